"""The requests and replies of a shard. All of them are records that `encode_record` writes."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from periplus.parse import TextBlock
from periplus.query import FilterRecord, PlanRecord
from periplus.records import Card, Hit, Query, ResultPage
from periplus.result_rules import RuleText
from periplus.search.navigational import SiteName
from periplus.search.own_fields.collected_documents import FacetCounts
from periplus.search.presentation.page_passages import PassageSpan
from periplus.search.presentation.result_selection import SelectionRules
from periplus.search.retrieve import RetrievedCandidates
from periplus.settings import FieldSettings

__all__ = [
    "AnswerReply",
    "AnswerRequest",
    "BlocksReply",
    "CollectReply",
    "CollectRequest",
    "DescribeRequest",
    "DictionaryRequest",
    "DocumentTerms",
    "EarlyPresentation",
    "EarlyReply",
    "EvidenceReply",
    "EvidenceRequest",
    "PageEvidence",
    "PagePassages",
    "PageRequest",
    "PartsRequest",
    "PassagesReply",
    "PassagesRequest",
    "PresentReply",
    "PresentRequest",
    "RelatedPage",
    "RetrieveReply",
    "RetrieveRequest",
    "SegmentDescription",
    "ShardDescription",
    "SignatureReply",
    "SignatureRequest",
    "StatisticsAnswer",
    "StatisticsQuestion",
    "StatusRequest",
    "StoredPage",
    "SuggestRequest",
]


Segments = npt.NDArray[np.int32]
Scores = npt.NDArray[np.float32]


class DescribeRequest(NamedTuple):
    """Asks what a shard has."""

    state: int = 0
    """What the broker knows of it: if that has not changed, segments need not be sent. 0 is nothing."""


class SegmentDescription(NamedTuple):
    """A segment, which never changes, and which of its documents are deleted, which does."""

    name: str
    documents: int
    deleted: npt.NDArray[np.int64]


class ShardDescription(NamedTuple):
    """What a shard has in its newest generation."""

    generation: int
    documents: int
    blocks: int
    """Blocks of documents in all segments, for estimates of costs."""
    segments: tuple[SegmentDescription, ...]
    languages: dict[str, int]
    hosts: int
    newest: float
    bytes: int
    kinds: tuple[str, ...]
    epoch: int
    """Of the collection statistics that its newest segment was built with; 0 if these are its own."""
    state: int = 0
    """A fingerprint of generation, segments and deleted documents; other replicas may have the same generation."""
    is_known: bool = False
    """Whether its state is that of the request; it is without segments then."""
    fields: Mapping[str, FieldSettings] = {}
    """The own fields of its documents, as they are declared."""


class DictionaryRequest(NamedTuple):
    """Asks for a piece of the dictionary of a segment."""

    segment: str
    start: int = 0
    """Bytes before the piece."""


class StatisticsQuestion(NamedTuple):
    """Asks for counts that are in postings only. Any of its parts may be empty."""

    phrases: tuple[tuple[tuple[bytes, ...], int], ...] = ()
    """Terms that stand one after the other, and the fields in which they may, as a mask."""
    language_terms: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
    """Terms, and languages by number: whether any document in these has the term."""
    cooccurrences: tuple[tuple[bytes, bytes], ...] = ()
    """Two terms: how many documents have both."""
    filters: tuple[FilterRecord, ...] = ()
    """Whether any page passes each."""
    links: tuple[str, ...] = ()
    """Targets of links that the query asks for: notes on those that cannot be looked up."""
    documents: tuple[tuple[int, int], ...] = ()
    """Segments and documents of the generation below whose words a query is widened by."""
    generation: int = 0


class DocumentTerms(NamedTuple):
    """The words of one document: terms, how often each occurs, a word that each stands for; and of all words, how many.

    Stop words of its language are left out of all but the size.
    """

    terms: tuple[bytes, ...]
    counts: tuple[int, ...]
    words: tuple[str, ...]
    size: int


class StatisticsAnswer(NamedTuple):
    """The parts of an answer, in the order of the question's."""

    phrases: tuple[int, ...]
    language_terms: tuple[bool, ...]
    cooccurrences: tuple[int, ...]
    filters: tuple[bool, ...]
    links: tuple[str, ...]
    documents: tuple[DocumentTerms, ...]


class EarlyPresentation(NamedTuple):
    """Asks to present what will probably be shown, too: see `early_results`."""

    rules: SelectionRules
    chars: int
    """Length of a snippet."""
    media: bool
    words: str
    """The query, for the card of a page that it names."""


class RetrieveRequest(NamedTuple):
    """Asks for the best candidates of a plan."""

    plan: PlanRecord
    limit: int
    seconds: float
    """Time for it; infinite for no limit."""
    work: int
    needed: int
    """The features that the broker weighs, as a mask of `FEATURES`."""
    today: int
    """Days since 1970 by the clock of the broker, so that all shards and brokers score by one clock."""
    site_name: SiteName | None = None
    dated: bool = False
    early: EarlyPresentation | None = None
    rules: tuple[RuleText, ...] = ()
    """The texts of the rule sets that the plan names, for a shard that does not have them."""


class RelatedPage(NamedTuple):
    """A near-duplicate of a result, or another page of its site."""

    key: int
    title: str
    url: str


class EarlyReply(NamedTuple):
    """Hits of candidates that will probably be shown, with scores as the shard knows them."""

    hits: tuple[Hit, ...]
    related: tuple[RelatedPage, ...]
    card: Card | None
    """Of the first of the hits, if the query names it."""


class RetrieveReply(NamedTuple):
    """The best candidates of a shard."""

    retrieved: RetrievedCandidates
    """With those columns of its features that `feature_columns` names."""
    feature_columns: npt.NDArray[np.uint8]
    columns: npt.NDArray[np.uint8]
    """What selection reads of candidates, a row for each: see `candidate_columns`."""
    generation: int
    """In which its segments and documents are numbered."""
    work: int
    skipped: tuple[str, ...]
    """Parts that were left out because the time was used up."""
    early: EarlyReply | None = None
    needs_rules: bool = False
    """Whether nothing was retrieved because the shard does not have the rules of the plan: ask again with them."""


class SignatureRequest(NamedTuple):
    """Asks for what near-duplicates of some documents are recognised by."""

    generation: int
    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]


class SignatureReply(NamedTuple):
    """Signatures of documents: see `ContentSignature`."""

    simhash: npt.NDArray[np.uint64]
    length: npt.NDArray[np.int64]
    exact: npt.NDArray[np.uint64]


class PresentRequest(NamedTuple):
    """Asks for the hits of some documents."""

    plan: PlanRecord
    generation: int
    segments: npt.NDArray[np.int32]
    documents: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float32]
    points: npt.NDArray[np.float32] | None
    """What embeddings added to each score; None where they take no part."""
    related_segments: npt.NDArray[np.int32]
    """Further documents, of which titles and URLs are wanted."""
    related_documents: npt.NDArray[np.int32]
    chars: int
    """Length of a snippet."""
    explain: bool
    media: bool
    card_words: str
    """The query, if the first of the documents is the first result: its card is wanted where the query names it."""
    seconds: float
    today: int
    """As that of `RetrieveRequest`."""


class PresentReply(NamedTuple):
    """Hits in the order of the request, without near-duplicates and other results of the site."""

    hits: tuple[Hit, ...]
    related: tuple[tuple[str, str], ...]
    """Titles and URLs."""
    card: Card | None
    skipped: tuple[str, ...]


class CollectRequest(NamedTuple):
    """Asks for facets over all matches of a plan, and for the first matches in the order of a field."""

    plan: PlanRecord
    sort: str
    facets: tuple[str, ...]
    fields: Mapping[str, FieldSettings]
    """The fields that are counted and sorted by, as the broker knows them."""
    limit: int
    seconds: float
    work: int
    rules: tuple[RuleText, ...] = ()
    """The texts of the rule sets that the plan names."""


class CollectReply(NamedTuple):
    """What the matches of a shard have."""

    found: RetrieveReply
    """The first matches in the order of a field, without features."""
    values: tuple[float | str | None, ...]
    """What each of them is sorted by."""
    counts: tuple[FacetCounts, ...]
    total: int
    exact: bool


class PassagesRequest(NamedTuple):
    """Asks for the best passages of pages, by their keys; a shard answers for those that it has."""

    plan: PlanRecord
    keys: tuple[int, ...]


class PagePassages(NamedTuple):
    """The best passages of a page."""

    key: int
    content: str
    """SHA-256 of its text."""
    spans: tuple[PassageSpan, ...]


class PassagesReply(NamedTuple):
    """The pages that the shard has."""

    pages: tuple[PagePassages, ...]


class EvidenceRequest(NamedTuple):
    """Asks what passages can be checked by: for each page, by its key, the texts of its passages."""

    pages: tuple[tuple[int, tuple[str, ...]], ...]
    seconds: float


class PageEvidence(NamedTuple):
    """The headings above each passage of a page, and where its response is stored."""

    key: int
    headings: tuple[tuple[str, ...], ...]
    warc: str


class EvidenceReply(NamedTuple):
    """The pages that the shard has."""

    pages: tuple[PageEvidence, ...]


class AnswerRequest(NamedTuple):
    """Asks the only shard of a collection for the answer to a query."""

    query: Query
    seconds: float
    cost: float
    """As those of `SearchLimits`."""
    settings: int
    """A fingerprint of the settings of the broker that answers depend on."""
    today: int
    """As that of `RetrieveRequest`."""


class AnswerReply(NamedTuple):
    """The answer; nothing where the broker has to run the stages of the query."""

    page: ResultPage | None = None
    error: tuple[str, str, str] | None = None
    """What the query is refused with: class, message and hint."""


class SuggestRequest(NamedTuple):
    """Asks for completions of what somebody types."""

    words: str
    size: int


class PageRequest(NamedTuple):
    """Asks for a page by the fingerprint of its URL."""

    key: int


class StatusRequest(NamedTuple):
    """Asks whether a URL, in canonical form, can be found."""

    url: str


class PartsRequest(NamedTuple):
    """Asks what the index of a shard consists of."""


class BlocksReply(NamedTuple):
    """Headings, paragraphs, lists and tables of a page; none if its response is not stored, or is not HTML."""

    blocks: tuple[TextBlock, ...]


class StoredPage(NamedTuple):
    """The stored text of a page; without a URL if the shard does not have it."""

    url: str = ""
    when: float = 0.0
    title: str = ""
    text: str = ""
    language: str = ""
