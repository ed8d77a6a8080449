"""Properties that are computed once; `functools.cached_property` takes a lock, which parsing has no use for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["lazy_property"]

Value = TypeVar("Value")


class lazy_property(Generic[Value]):  # noqa: N801 - it is written as a decorator
    """A property of objects of one thread that is computed when it is first read, and is an attribute from then on."""

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        value = instance.__dict__[self._name] = self._function(instance)
        return value
