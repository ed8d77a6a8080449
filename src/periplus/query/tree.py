"""What a query means, as a tree."""

from dataclasses import dataclass

__all__ = ["All", "Any", "Bag", "Everything", "Node", "Phrase", "Site", "Without", "Word"]


@dataclass(frozen=True)
class Word:
    """One word that must be there."""

    word: str


@dataclass(frozen=True)
class Bag:
    """Words of which at least one must be there; documents with more of them rank higher."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Phrase:
    """Words that must stand next to each other, in this order."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """Pages of a host and its subdomains, below a path."""

    host: str
    path: str = ""


@dataclass(frozen=True)
class Everything:
    """All documents: what a query of nothing but exclusions starts from."""


@dataclass(frozen=True)
class All:
    """Every part must match."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Any:
    """At least one part must match."""

    parts: tuple["Node", ...]


@dataclass(frozen=True)
class Without:
    """`part` must match, and `barred` must not."""

    part: "Node"
    barred: "Node"


Node = Word | Bag | Phrase | Site | Everything | All | Any | Without
