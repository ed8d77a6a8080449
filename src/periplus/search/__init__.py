"""Search: a query to a page of results, in three stages.

In: a `Query` and a data folder. Out: a `ResultPage` with titles, breadcrumbs, snippets and counts.

`Searcher` answers queries over the index of a data folder, from many threads; it uses the generation of the index that
it has open, and `refresh` opens the newest. A query is parsed and planned, and then passes three stages:

    retrieve    plan in, candidates with their features out; runs on a shard
    rerank      rows of all shards in (`merge_shards`), ordered candidates out; runs once, without an index
    present     candidates in, hits out: selection, snippets, dates; runs where the documents are

On one machine these are plain calls. `ShardedSearcher` gives the same answers from several shards (`IndexShard`), each
the index of one data folder: see `periplus.search.sharding`. `encode_record` and `decode_record` write the records
between stages and shards as msgpack.
A query may name a snapshot (`pinning`): it is answered from files that were kept, as they were then.
`Searcher.suggest` completes what somebody types; `Searcher.page_status` tells why a page is not found.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from periplus.search.answering.document_trace import DocumentTrace
from periplus.search.index_session import IndexParts, IndexSession, SearchStatistics
from periplus.search.page_status import PageStatus
from periplus.search.pinning.snapshot_files import (
    Snapshot,
    complete_snapshot,
    link_files,
    list_snapshots,
    new_snapshot_folder,
    read_snapshot,
    remove_snapshot,
    snapshots_folder,
)
from periplus.search.present import present
from periplus.search.presentation.page_passages import Passage, passages_of_snippets
from periplus.search.presentation.presented_results import PresentedResults
from periplus.search.presentation.snippets import make_snippet
from periplus.search.ranking_weights import RankingWeight
from periplus.search.record_codec import decode_record, encode_record
from periplus.search.rerank import RerankedCandidates, rerank
from periplus.search.retrieve import RetrievedCandidates, retrieve
from periplus.search.rewriting.relaxed_retrieval import PlannedCandidates, retrieve_relaxed
from periplus.search.searcher import CachedPage, Searcher
from periplus.search.shard_merge import merge_shards

if TYPE_CHECKING:
    from periplus.search.sharding.empty_replies import empty_reply
    from periplus.search.sharding.index_shard import IndexShard
    from periplus.search.sharding.local_shards import LocalShards
    from periplus.search.sharding.merged_columns import MergedColumns
    from periplus.search.sharding.shard_methods import SHARD_METHODS, Shard, ShardGroup, ShardMethod
    from periplus.search.sharding.shard_records import (
        DescribeRequest,
        PresentReply,
        PresentRequest,
        RetrieveReply,
        RetrieveRequest,
        ShardDescription,
        SignatureReply,
        StatisticsAnswer,
        StatisticsQuestion,
    )
    from periplus.search.sharding.sharded_backend import ShardedBackend
    from periplus.search.sharding.sharded_collection import ShardedCollection
    from periplus.search.sharding.sharded_searcher import ShardedSearcher

__all__ = [
    "SHARD_METHODS",
    "CachedPage",
    "DescribeRequest",
    "DocumentTrace",
    "IndexParts",
    "IndexSession",
    "IndexShard",
    "LocalShards",
    "MergedColumns",
    "PageStatus",
    "Passage",
    "PlannedCandidates",
    "PresentReply",
    "PresentRequest",
    "PresentedResults",
    "RankingWeight",
    "RerankedCandidates",
    "RetrieveReply",
    "RetrieveRequest",
    "RetrievedCandidates",
    "SearchStatistics",
    "Searcher",
    "Shard",
    "ShardDescription",
    "ShardGroup",
    "ShardMethod",
    "ShardedBackend",
    "ShardedCollection",
    "ShardedSearcher",
    "SignatureReply",
    "Snapshot",
    "StatisticsAnswer",
    "StatisticsQuestion",
    "complete_snapshot",
    "decode_record",
    "empty_reply",
    "encode_record",
    "link_files",
    "list_snapshots",
    "make_snippet",
    "merge_shards",
    "new_snapshot_folder",
    "passages_of_snippets",
    "present",
    "read_snapshot",
    "remove_snapshot",
    "rerank",
    "retrieve",
    "retrieve_relaxed",
    "snapshots_folder",
]

_SHARDING_MODULES: Final = {
    "empty_replies": ("empty_reply",),
    "index_shard": ("IndexShard",),
    "local_shards": ("LocalShards",),
    "shard_methods": ("SHARD_METHODS", "Shard", "ShardGroup", "ShardMethod"),
    "sharded_collection": ("ShardedCollection",),
    "sharded_searcher": ("ShardedSearcher",),
    "sharded_backend": ("ShardedBackend",),
    "merged_columns": ("MergedColumns",),
    "shard_records": (
        *("DescribeRequest", "PresentReply", "PresentRequest", "RetrieveReply", "RetrieveRequest", "ShardDescription"),
        *("SignatureReply", "StatisticsAnswer", "StatisticsQuestion"),
    ),
}
_LAZY_NAMES: Final = {name: module for module, names in _SHARDING_MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name of sharding on first use: a server of one machine starts without it."""
    if name not in _LAZY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.sharding.{_LAZY_NAMES[name]}"), name)
    return value
