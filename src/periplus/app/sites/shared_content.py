"""Published content at any site: what this one lacks is fetched from one that has it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from periplus.typed_decoding import convert_to

if TYPE_CHECKING:
    from periplus.serve import ContentLike
    from periplus.sites import SharedContent, Transport

    FindContent = Callable[[str], ContentLike | None]

__all__ = ["share_content"]

_SCHEMES: Final = ("http://", "https://")


def share_content(
    published: "FindContent", transport: "Transport", alive: Callable[[], Sequence[str]]
) -> "FindContent":
    """Serve the content of this site to others; return what finds content by its id here, or else at other sites.

    published: finds it here; alive: the names of the other sites that are alive.
    """
    from periplus.sites import ContentExchange, SharedContent

    def read(identifier: str) -> "SharedContent | None":
        found = published(identifier)
        # Which key has published it concerns this site only.
        return SharedContent({**found.metadata, "publisher": ""}, found.content) if found is not None else None

    exchange = ContentExchange(transport, read, alive)

    def find(identifier: str) -> "ContentLike | None":
        return published(identifier) or _accept(exchange.find(identifier))

    return find


def _accept(found: "SharedContent | None") -> "ContentLike | None":
    """Return content of another site; None if what it says about it is not what anybody can say who publishes here."""
    from periplus.publish import ContentMetadata

    if found is None:
        return None
    try:
        metadata = convert_to(found.metadata, ContentMetadata)
    except msgspec.ValidationError:
        return None
    url = metadata.url if metadata.url.startswith(_SCHEMES) else ""
    known: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(metadata, url=url, publisher=""))
    return found._replace(metadata=known)
