"""Arrays that a kernel makes and borrows live until its pointers are no longer used."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

import periplus
from periplus.accel.pointers import borrow, keep

SOURCE = Path(periplus.__file__).parent


def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def calls_of(node: ast.AST, name: str) -> list[ast.Call]:
    found = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == name]


def made_in(function: ast.FunctionDef) -> set[str]:
    """Return the names of what calls return in a function: arrays, and views of them."""
    made = set[str]()
    for part in ast.walk(function):
        if isinstance(part, ast.Assign) and calls(part.value):
            made |= set().union(*map(names_in, part.targets))
    return made


def calls(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(value))


def ends(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    """Yield each return in some statements with the statement before it."""
    for before, statement in zip([None, *body], body, strict=False):
        if isinstance(statement, ast.Return):
            yield statement, before
        for part in ("body", "orelse"):
            yield from ends(getattr(statement, part, []))


def released_early(function: ast.FunctionDef) -> set[str]:
    """Return the arrays that a function makes and borrows, and does not keep right before it returns."""
    made, early = made_in(function), set[str]()
    places = [(name, call.lineno) for call in calls_of(function, "borrow") for name in names_in(call.args[0]) & made]
    last = function.body[-1]
    returns = [*ends(function.body), *([] if isinstance(last, ast.Return) else [(last, last)])]
    for statement, before in returns:
        borrowed = {name for name, line in places if line <= (statement.end_lineno or 0)}
        kept = set().union(*map(names_in, calls_of(before, "keep"))) if before is not None else set()
        early |= borrowed - kept
    return early


def functions_that_borrow() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{path.relative_to(SOURCE)}:{node.name}", node)
        for path in sorted(SOURCE.rglob("*.py"))
        if "borrow(" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and calls_of(node, "borrow")
    ]


def test_kernels_keep_what_they_borrow() -> None:
    functions = functions_that_borrow()
    assert len(functions) > 20
    early = {name: found for name, function in functions if (found := released_early(function))}
    assert not early, "pass these to periplus.accel.pointers.keep, right before the return"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = np.empty(9); return f(borrow(a))", {"a"}),
        ("a = np.empty(9); r = f(borrow(a)); keep((a,)); return r", set()),
        ("a, b = np.empty(9), np.empty(9); f(borrow(a), borrow(b)); keep((a,))", {"b"}),
        ("a = np.empty(9); p = borrow(a); r = p[0]; keep((a,)); return r", set()),
        ("return f(borrow(given), borrow(given.part))", set()),
    ],
)
def test_the_rule_finds_arrays_that_are_released_early(body: str, expected: set[str]) -> None:
    (function,) = ast.parse(f"def kernel(given): {body}").body
    assert isinstance(function, ast.FunctionDef)
    assert released_early(function) == expected


@njit
def sum_after_filling_another(pointer: Any, size: int) -> Any:
    other = np.empty(size, np.uint64)  # has the place of the array, if that was released
    filled = borrow(other)
    total = np.uint64(0)
    for number in range(size):
        filled[number] = 7
        total += pointer[number]
    keep((other,))
    return total


@njit
def sum_of_zeros(size: int) -> Any:
    zeros = np.zeros(size, np.uint64)
    total = sum_after_filling_another(borrow(zeros), size)
    keep((zeros,))
    return total


@pytest.mark.parametrize("size", [1, 100, 10_000, 1_000_000])
def test_an_array_that_is_kept_is_not_released(size: int) -> None:
    assert sum_of_zeros(size) == 0
