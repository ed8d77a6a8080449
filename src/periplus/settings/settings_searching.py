"""Settings of what happens after the page store: index, links, ranking, results."""

from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from periplus.settings_section import Section, cache_folder

__all__ = [
    "EmbeddingSettings",
    "GraphSettings",
    "IndexSettings",
    "RankSettings",
    "SearchSettings",
]


class IndexSettings(Section, frozen=True):
    """Building of segments, and term weights."""

    memory_mb: Annotated[int, Meta(description="Memory for a build, over all workers, in MB", ge=64)] = 512
    workers: Annotated[
        int,
        Meta(description="Number of threads that analyze pages in a build; 0 is one per core", ge=0, le=256),
    ] = 1
    publish_seconds: Annotated[
        float, Meta(description="Interval after which a live index makes new pages searchable, in seconds", gt=0)
    ] = 0.1
    order: Annotated[
        str,
        Meta(
            description="Order of documents in a segment: tiers (four by static rank, in each by host and URL), rank "
            "(by static rank) or site (by host and URL)",
            pattern="^(tiers|rank|site)$",
        ),
    ] = "tiers"
    k1: Annotated[float, Meta(description="BM25F k1: the higher, the more repeated words count", gt=0)] = 2.2
    title_weight: Annotated[float, Meta(description="BM25F weight of the title", ge=0)] = 4.4
    heading_weight: Annotated[float, Meta(description="BM25F weight of headings", ge=0)] = 0.5
    url_weight: Annotated[float, Meta(description="BM25F weight of words in the URL", ge=0)] = 3.1
    anchor_weight: Annotated[float, Meta(description="BM25F weight of the text of links to the page", ge=0)] = 1.0
    emphasis_weight: Annotated[
        float, Meta(description="BM25F weight of emphasized words, in addition to the body", ge=0)
    ] = 0.2
    body_weight: Annotated[float, Meta(description="BM25F weight of the body: the main content of a page", ge=0)] = 1.0
    boilerplate_weight: Annotated[
        float, Meta(description="BM25F weight of navigation, footers and repeated blocks of a site", ge=0)
    ] = 0.05
    body_b: Annotated[
        float, Meta(description="BM25F b of the body: the higher, the more length is penalized", ge=0, le=1)
    ] = 0.51
    field_b: Annotated[float, Meta(description="BM25F b of all other fields", ge=0, le=1)] = 0.61
    field_length_exponent: Annotated[
        float,
        Meta(
            description="How far the weights of title and URL follow the length of bodies relative to theirs: 0 is not "
            "at all, 1 in proportion",
            ge=0,
            le=2,
        ),
    ] = 0.69
    k1_length_exponent: Annotated[
        float,
        Meta(description="How far k1 follows the mean length of bodies: 0 is not at all, 1 in proportion", ge=0, le=2),
    ] = 0.58
    thin_page_weight: Annotated[
        float,
        Meta(description="Share of its weights that a page without a body has; all from 10 words on", gt=0, le=1),
    ] = 0.45
    weights: Annotated[str, Meta(description="File of custom weights for URLs and pages (TOML, see ranking.md)")] = ""


class GraphSettings(Section, frozen=True):
    """Link analysis."""

    damping: Annotated[
        float, Meta(description="PageRank damping factor: probability of following a link", gt=0, lt=1)
    ] = 0.85
    tolerance: Annotated[float, Meta(description="PageRank stops when the sum of all changes is below this", gt=0)] = (
        1e-12
    )
    same_host_weight: Annotated[
        float, Meta(description="Weight of a link within one host; other links have 1", ge=0)
    ] = 0.3
    anchor_chars: Annotated[
        int, Meta(description="Maximum number of characters of anchor text stored for one page", ge=0)
    ] = 1_000
    memory_mb: Annotated[
        int,
        Meta(description="Memory for sorting and ranking links, in MB, in addition to about 150 bytes per page", ge=1),
    ] = 512
    workers: Annotated[int, Meta(description="Number of threads for ranking; 0 is one per core", ge=0)] = 0
    trusted: Annotated[
        str,
        Meta(description="File of trusted hosts and URLs, one per line; none trusts the seeds or much linked hosts"),
    ] = ""


class RankSettings(Section, frozen=True):
    """Ranking."""

    static_weight: Annotated[float, Meta(description="Weight of the static rank, relative to the text score", ge=0)] = (
        0.5
    )
    all_words_bonus: Annotated[
        float,
        Meta(description="Bonus for containing all words of a short query, as a fraction of the best score", ge=0),
    ] = 0.1
    short_query: Annotated[int, Meta(description="Maximum number of words of a short query", ge=0)] = 5
    rerank: Annotated[
        int, Meta(description="Number of candidates that are reranked; 0 uses the first stage alone", ge=0)
    ] = 100
    weights: Annotated[
        str, Meta(description="File of custom weights of features (TOML, see ranking.md); none uses the built-in ones")
    ] = ""
    popularity: Annotated[
        str, Meta(description="File of popular hosts, most popular first: lines of a host, or rank,host")
    ] = ""
    learned: Annotated[bool, Meta(description="Use the learned model of the data folder, if there is one")] = True


_MULTILINGUAL: Final = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
"""Languages that the multilingual model was trained on."""


class EmbeddingSettings(Section, frozen=True):
    """Ranking by embeddings: by the static model always, by an encoder with the extra 'semantic'."""

    semantic: Annotated[
        str,
        Meta(
            description="auto: the static model, and the encoder where it has vectors; static: that alone; off: none",
            pattern="^(auto|static|off)$",
        ),
    ] = "auto"
    budget_minutes: Annotated[
        float,
        Meta(description="Time, from each start, after which `periplus up` stops embedding; 0 is no limit", ge=0),
    ] = 60.0
    enabled: Annotated[
        bool, Meta(description="If `semantic` is auto: use the encoder from the start, embed without a limit of time")
    ] = False
    encoder: Annotated[
        str,
        Meta(
            description="The model: granite-small, granite (slower), multilingual, or minilm, that of earlier versions",
            pattern="^(granite-small|granite|multilingual|minilm)$",
        ),
    ] = "granite-small"
    model: Annotated[str, Meta(description="Folder of the converted model; none is the cache folder")] = ""
    languages: Annotated[
        tuple[str, ...],
        Meta(description="Languages that are ranked with the model; none are all that it supports"),
    ] = ()
    passage_tokens: Annotated[int, Meta(description="Length of a passage, in tokens of the model", ge=16, le=512)] = 192
    overlap: Annotated[int, Meta(description="Number of tokens that consecutive passages share", ge=0, le=128)] = 16
    passages: Annotated[int, Meta(description="Maximum number of passages of one document", ge=1, le=64)] = 2
    candidates: Annotated[int, Meta(description="Number of best candidates that are scored by embeddings", ge=10)] = 50
    documents: Annotated[
        int, Meta(description="Maximum number of documents embedded in one run; 0 is no limit", ge=0)
    ] = 0
    weight: Annotated[
        float, Meta(description="Weight of the similarity of embeddings, relative to 1 for the text score", ge=0)
    ] = 1.0
    nearest: Annotated[
        int, Meta(description="Number of nearest documents that are added to the candidates", ge=0, le=1_000)
    ] = 50
    probe: Annotated[float, Meta(description="Fraction of the lists of vectors that a search examines", gt=0, le=1)] = (
        0.1
    )
    on_demand: Annotated[
        bool, Meta(description="Embed candidates without vectors during the query, and store the vectors")
    ] = False
    threads: Annotated[
        int, Meta(description="Number of passages that are embedded at once, one core each", ge=1, le=64)
    ] = 1
    early_exit: Annotated[
        bool,
        Meta(description="Skip layers of the model for stop words and punctuation, which is faster and less exact"),
    ] = False

    @property
    def supported_languages(self) -> tuple[str, ...]:
        """Languages of pages and queries that are ranked with the model."""
        return self.languages or (_MULTILINGUAL if self.encoder == "multilingual" else ("en",))

    @property
    def model_folder(self) -> Path:
        """Where the converted model is kept."""
        if self.model:
            return Path(self.model)
        return cache_folder() / ("model" if self.encoder == "minilm" else f"model-{self.encoder}")


class SearchSettings(Section, frozen=True):
    """Result pages."""

    per_host: Annotated[
        int, Meta(description="Maximum number of results of one host among ten; 0 is no limit", ge=0)
    ] = 2
    near_duplicate_bits: Annotated[
        int, Meta(description="Maximum number of different simhash bits of near-duplicates", ge=0, le=16)
    ] = 3
    snippet_chars: Annotated[int, Meta(description="Length of a snippet, in characters", ge=40)] = 165
    max_results: Annotated[int, Meta(description="Maximum number of results that can be paged through", ge=10)] = 1_000
    budget_ms: Annotated[
        float, Meta(description="Time after which a query returns what it has, in milliseconds", gt=0)
    ] = 500.0
    max_work: Annotated[
        int,
        Meta(description="Maximum number of postings and positions that a query decodes, in millions", ge=1),
    ] = 200
    enough: Annotated[
        int,
        Meta(
            description="Number of good pages, with all words of a query, in the quarter of the index with the highest "
            "static ranks that are enough: other pages are not searched, and the answer says so; 0 searches all",
            ge=0,
        ),
    ] = 0
    synonym_weight: Annotated[
        float, Meta(description="Weight of synonyms learned from links, relative to 1; 0 disables them", ge=0, le=1)
    ] = 0.4
    feedback: Annotated[
        str,
        Meta(
            description="Widen queries by words of their best results, by a second matching: off, auto (where it is "
            "predicted to help) or always",
            pattern="^(off|auto|always)$",
        ),
    ] = "off"
    popular_after: Annotated[
        int,
        Meta(
            description="Promote a completion that this many people, at least 3, searched for on a day; 0 is off", ge=0
        ),
    ] = 0
