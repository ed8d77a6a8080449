"""The protocol of the collections of a data folder, which whoever starts the server passes in."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from periplus.records import Query, ResultPage, SearchLimits

__all__ = ["CollectionLike", "CollectionSearcherLike", "CollectionsLike"]


class CollectionLike(Protocol):
    """A named collection."""

    @property
    def name(self) -> str:
        """Its own name, where it was asked for by an alias."""

    @property
    def public(self) -> bool:
        """Whether anybody may search it."""


class CollectionSearcherLike(Protocol):
    """The searcher of a collection."""

    def search(self, query: Query, limits: SearchLimits | None = None) -> ResultPage:
        """Answer a query within limits; raise `ExpensiveQuery` if it is estimated to cost more."""


class CollectionsLike(Protocol):
    """The collections of a data folder. Any thread may call these methods, which read and write files."""

    def find(self, name: str) -> CollectionLike | None:
        """Return the collection with a name, or that an alias stands for; this is fast."""

    def all(self) -> list[dict[str, Any]]:
        """Return all collections."""

    def describe(self, name: str) -> dict[str, Any] | None:
        """Return a collection with its number of documents; None if there is none."""

    def create(self, name: str, fields: Mapping[str, Any], public: bool) -> dict[str, Any]:
        """Create a collection; raise `BadInput` for a wrong name or field."""

    def change(self, name: str, fields: Mapping[str, Any] | None, public: bool | None) -> dict[str, Any]:
        """Change what is not None; raise `BadInput` for fields that are wrong or that documents contradict."""

    def delete(self, name: str) -> None:
        """Delete a collection; raise `BadInput` while an alias stands for it."""

    def aliases(self) -> dict[str, str]:
        """Return what each alias stands for."""

    def change_aliases(self, targets: Mapping[str, str], removed: Sequence[str]) -> dict[str, str]:
        """Change and remove aliases in one step; return all of them. Raise `BadInput`, and change nothing."""

    def documents(self, name: str) -> Any:
        """Return the documents of a collection (`DocumentsLike`); None if there is none."""

    def searcher(self, name: str, *, at_once: bool = False) -> CollectionSearcherLike | None:
        """Return the searcher of a collection; at_once: of its newest generation. None if there is none."""
