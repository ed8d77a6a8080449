"""Errors: one tree, one line each, and they travel between processes."""

import inspect
import pickle

import pytest

from periplus import errors

KINDS = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_in_the_tree_and_in_the_drawing(kind: type[errors.PeriplusError]) -> None:
    assert issubclass(kind, errors.PeriplusError)
    assert kind.__name__ in (errors.__doc__ or "")
    assert kind.__name__ in errors.__all__


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling(kind: type[errors.PeriplusError]) -> None:
    again = pickle.loads(pickle.dumps(kind("It broke.", "Mend it.")))
    assert type(again) is kind
    assert (again.message, again.hint, str(again)) == ("It broke.", "Mend it.", "It broke. Mend it.")


def test_an_error_without_a_hint_has_no_trailing_space() -> None:
    assert str(errors.BadUrl("No URL.")) == "No URL."
