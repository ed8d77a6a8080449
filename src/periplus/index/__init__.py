"""The inverted index: segments, built from fetch records and read by queries.

In: fetch records (pages with their text) and document signals (static ranks, anchor text). Out: a folder of immutable,
checksummed, memory-mapped segments under one manifest, and `Index`, a snapshot of it.

    build_index     write a new generation or, with `append`, add segments for new pages
    LiveIndex       add, replace and delete pages one by one; searchable within a second
    Index, Segment  read a generation: terms, postings, columns, stored text
    check_index     verify every byte and invariant
    repair_index    restore damaged segments from the page store
    gather_build_statistics, IndexMeasurer, sum_build_statistics
                    collect what builds take from a whole collection, where an index is one shard of it
    CollectionView, CollectionDictionary
                    what planning asks of a collection, and the dictionary of all its shards
    export_index    write terms and collection statistics for other sites

One atomic rename of the manifest makes a generation visible; readers keep the one that they opened. See
docs/formats/segment.md and docs/live-index.md.

What reads an index is imported with this package, what writes one on first use: a server starts without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.index.collection.build_statistics import (
    BuildStatistics,
    folder_statistics,
    read_build_statistics,
    store_build_statistics,
    sum_build_statistics,
    write_build_statistics,
)
from periplus.index.collection.collection_dictionary import CollectionDictionary
from periplus.index.collection.collection_view import CollectionView, FrequentTerms, NameEntry
from periplus.index.collection.dictionary_pieces import PIECE_BYTES, DictionaryAssembler, DictionaryPiece, cut_piece
from periplus.index.collection.language_terms import MAX_RARE
from periplus.index.collection.segment_dictionary import SegmentDictionary, read_dictionary
from periplus.index.document_fields import FIELD_NAMES, Field
from periplus.index.index_reader import Index, IndexStatistics
from periplus.index.media_file import EXTRAS, documents_with, read_media
from periplus.index.own_fields.field_schema import Schema, read_schema, schema_stamp, write_schema
from periplus.index.own_fields.field_values import convert_value, parse_date
from periplus.index.segment import Segment, TermEntry
from periplus.index.static_vectors import stored_vectors
from periplus.index.vocabulary.completions import LINK_TEXT_FLAG, squeeze_site_name
from periplus.index.vocabulary.name_lookup import NamedDocument, discount_titles, find_named_documents, select_named
from periplus.index.vocabulary.spelling_dictionary import SpellingCandidate, SpellingDictionary
from periplus.index.vocabulary.title_keys import title_key
from periplus.index.word_pairs.pair_lists import find_pair_sets

if TYPE_CHECKING:
    from periplus.index.builder.document_batches import DocumentSignals
    from periplus.index.builder.feed_dates import repair_feed_log
    from periplus.index.builder.index_builder import BuildSummary, build_index
    from periplus.index.builder.statistics_pass import gather_build_statistics
    from periplus.index.collection.index_measurement import IndexMeasurer
    from periplus.index.live.live_index import LiveIndex
    from periplus.index.maintenance.index_check import check_index, index_tail_faults
    from periplus.index.maintenance.index_export import CollectionStatistics, TermBound, export_index
    from periplus.index.maintenance.index_repair import IndexRepair, repair_index
    from periplus.index.merge.segment_slice import replace_index, write_slice

__all__ = [
    "EXTRAS",
    "FIELD_NAMES",
    "LINK_TEXT_FLAG",
    "MAX_RARE",
    "PIECE_BYTES",
    "BuildStatistics",
    "BuildSummary",
    "CollectionDictionary",
    "CollectionStatistics",
    "CollectionView",
    "DictionaryAssembler",
    "DictionaryPiece",
    "DocumentSignals",
    "Field",
    "FrequentTerms",
    "Index",
    "IndexMeasurer",
    "IndexRepair",
    "IndexStatistics",
    "LiveIndex",
    "NameEntry",
    "NamedDocument",
    "Schema",
    "Segment",
    "SegmentDictionary",
    "SpellingCandidate",
    "SpellingDictionary",
    "TermBound",
    "TermEntry",
    "build_index",
    "check_index",
    "convert_value",
    "cut_piece",
    "discount_titles",
    "documents_with",
    "export_index",
    "find_named_documents",
    "find_pair_sets",
    "folder_statistics",
    "gather_build_statistics",
    "index_tail_faults",
    "parse_date",
    "read_build_statistics",
    "read_dictionary",
    "read_media",
    "read_schema",
    "repair_feed_log",
    "repair_index",
    "replace_index",
    "schema_stamp",
    "select_named",
    "squeeze_site_name",
    "store_build_statistics",
    "stored_vectors",
    "sum_build_statistics",
    "title_key",
    "write_build_statistics",
    "write_schema",
    "write_slice",
]

_WRITING_MODULES: Final = {
    "builder.feed_dates": ("repair_feed_log",),
    "builder.index_builder": ("BuildSummary", "build_index"),
    "builder.statistics_pass": ("gather_build_statistics",),
    "collection.index_measurement": ("IndexMeasurer",),
    "maintenance.index_check": ("check_index", "index_tail_faults"),
    "maintenance.index_export": ("CollectionStatistics", "TermBound", "export_index"),
    "builder.document_batches": ("DocumentSignals",),
    "live.live_index": ("LiveIndex",),
    "maintenance.index_repair": ("IndexRepair", "repair_index"),
    "merge.segment_slice": ("replace_index", "write_slice"),
}
_LAZY_NAMES: Final = {name: module for module, names in _WRITING_MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of a module that writes an index, on first use."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_LAZY_NAMES[name]}"), name)
    return value
