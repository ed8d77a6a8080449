"""Coefficients of capacity planning: measured values, each with the benchmark result that it comes from."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from periplus.errors import CorruptFile
from periplus.typed_decoding import parse_json

__all__ = ["COEFFICIENTS_FILE", "Coefficient", "Coefficients", "load_coefficients", "read_field"]

COEFFICIENTS_FILE: Final = Path(__file__).with_name("coefficients.json")
"""Written by `scripts/write_scale.py` from `bench/results`; a test compares the two."""


class Coefficient(msgspec.Struct, frozen=True):
    """One measured value."""

    name: str
    value: float
    unit: str
    file: str
    """In `bench/results`."""
    field: str
    """Names and numbers of elements, separated by dots."""
    date: str
    """When it was measured."""
    meaning: str


class Coefficients:
    """The table of coefficients, and which of them were used."""

    def __init__(self, rows: tuple[Coefficient, ...]) -> None:
        self._rows = {row.name: row for row in rows}
        self._used: dict[str, Coefficient] = {}

    def __getitem__(self, name: str) -> float:
        """Return the value of a coefficient."""
        row = self._used[name] = self._rows[name]
        return row.value

    def used(self) -> tuple[Coefficient, ...]:
        """Return the coefficients that were read, in the order of the table."""
        return tuple(row for name, row in self._rows.items() if name in self._used)


@cache
def _rows() -> tuple[Coefficient, ...]:
    try:
        return parse_json(COEFFICIENTS_FILE.read_bytes(), tuple[Coefficient, ...])
    except msgspec.MsgspecError as error:
        raise CorruptFile(f"{COEFFICIENTS_FILE} is damaged: {error}.", "Install Periplus again.") from error


def load_coefficients() -> Coefficients:
    """Return the table that lies in the package."""
    return Coefficients(_rows())


def read_field(record: Any, field: str) -> float:
    """Return the number at a path of names and numbers, such as 'figures.web.1.ours.cpu'; raise `KeyError` without."""
    for step in field.split("."):
        try:
            record = record[int(step)] if isinstance(record, list) else record[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise KeyError(f"{step} of {field}") from None
    return float(record)
