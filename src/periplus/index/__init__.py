"""Terms to segments, segments to cursors.

In: visits (pages with their text) and signals (static ranks, anchor text). Out: a folder of immutable, checksummed,
memory-mapped segments under one manifest, and `Index`, which reads them.

`build_index` makes a whole new generation or, with `extend`, adds segments for new pages; `LiveIndex` takes pages one
by one and makes them searchable within a second. `check_index` verifies, `repair_index` restores from the page store,
`export_index` writes terms and statistics for other sites. One atomic rename of the manifest makes a generation
visible; readers keep the one they opened. See docs/formats/segment.md and docs/live-index.md.

What reads an index is imported with this room, what writes one when it is first asked for: a server starts without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.index.document_fields import FIELD_NAMES, Field
from periplus.index.index_reader import Index, IndexStatistics
from periplus.index.media_file import EXTRAS, documents_having, read_media
from periplus.index.segment import Segment, TermEntry
from periplus.index.vocabulary.completions import LINK_TEXT, squeeze
from periplus.index.vocabulary.title_keys import title_key
from periplus.index.vocabulary.word_dictionary import Meant, WordBook

if TYPE_CHECKING:
    from periplus.index.builder.document_batches import Signals
    from periplus.index.builder.index_builder import IndexCount, build_index
    from periplus.index.live.live_index import LiveIndex
    from periplus.index.maintenance.index_check import check_index
    from periplus.index.maintenance.index_export import Collection, TermBound, export_index
    from periplus.index.maintenance.index_repair import Repair, repair_index

__all__ = [
    "EXTRAS",
    "FIELD_NAMES",
    "LINK_TEXT",
    "Collection",
    "Field",
    "Index",
    "IndexCount",
    "IndexStatistics",
    "LiveIndex",
    "Meant",
    "Repair",
    "Segment",
    "Signals",
    "TermBound",
    "TermEntry",
    "WordBook",
    "build_index",
    "check_index",
    "documents_having",
    "export_index",
    "read_media",
    "repair_index",
    "squeeze",
    "title_key",
]

_WRITING: Final = {
    "builder.index_builder": ("IndexCount", "build_index"),
    "maintenance.index_check": ("check_index",),
    "maintenance.index_export": ("Collection", "TermBound", "export_index"),
    "builder.document_batches": ("Signals",),
    "live.live_index": ("LiveIndex",),
    "maintenance.index_repair": ("Repair", "repair_index"),
}
_LATER: Final = {name: module for module, names in _WRITING.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what was left for later."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    return value
