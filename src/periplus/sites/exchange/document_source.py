"""Documents that are copied between sites, and bounds that leave copies out, over a transport."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from periplus.errors import BadInput
from periplus.index import Index
from periplus.search import decode_record, encode_record
from periplus.settings import IndexSettings
from periplus.sites.forwarding import SiteBounds, encode_bounds
from periplus.sites.messaging.transport import Transport
from periplus.sites.replication import MAX_SLICE_DOCUMENTS, encode_slice, make_slice

__all__ = ["TransportSource", "serve_documents"]

_DOCUMENTS: Final = "documents"
_BOUNDS: Final = "bounds-without"
_SECONDS: Final = 60.0
_MAX_SEGMENTS: Final = 10_000
Request = TypeVar("Request")


class _DocumentsRequest(NamedTuple):
    keys: npt.NDArray[np.uint64]


class _BoundsRequest(NamedTuple):
    copies: dict[str, npt.NDArray[np.int64]]


class TransportSource:
    """Fetches from other sites; implements `DocumentSource`. A site that does not answer is a `SiteUnreachable`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def fetch_documents(self, site: str, keys: Sequence[int]) -> bytes:
        """Return the slice of the documents with some keys that a site has, encoded."""
        body = encode_record(_DocumentsRequest(np.array(list(keys), np.uint64)))
        return self._transport.request(site, _DOCUMENTS, body, _SECONDS)

    def fetch_bounds(self, site: str, copies: Mapping[str, npt.NDArray[np.int64]]) -> bytes:
        """Return the bounds of a site that leave out documents, given by segment, encoded."""
        return self._transport.request(site, _BOUNDS, encode_record(_BoundsRequest(dict(copies))), _SECONDS)


def serve_documents(
    transport: Transport,
    name: str,
    index: Callable[[], Index | None],
    bounds: Callable[[Index, Mapping[str, npt.NDArray[np.int64]]], SiteBounds],
    settings: IndexSettings,
) -> None:
    """Answer the requests of other sites for documents and bounds of this one; raise `BadInput` for what is neither.

    index: the newest generation, None while there is none. bounds: makes those that leave out some documents.
    """

    def send_documents(sender: str, body: bytes) -> bytes:
        request = _decode(body, _DocumentsRequest)
        if request.keys.ndim != 1 or len(request.keys) > MAX_SLICE_DOCUMENTS:
            raise BadInput("Too many documents are asked for at once.")
        return encode_slice(make_slice(name, _open(index), request.keys.tolist(), settings))

    def send_bounds(sender: str, body: bytes) -> bytes:
        request = _decode(body, _BoundsRequest)
        if len(request.copies) > _MAX_SEGMENTS or any(part.ndim != 1 for part in request.copies.values()):
            raise BadInput("A request for bounds is not valid.")
        return encode_bounds(bounds(_open(index), request.copies))

    transport.serve(_DOCUMENTS, send_documents)
    transport.serve(_BOUNDS, send_bounds)


def _open(index: Callable[[], Index | None]) -> Index:
    current = index()
    if current is None:
        raise BadInput("There is no index yet.")
    return current


def _decode(body: bytes, kind: type[Request]) -> Request:
    try:
        return decode_record(body, kind)
    except msgspec.MsgspecError as error:
        raise BadInput(f"A request is not readable: {error}.") from error
