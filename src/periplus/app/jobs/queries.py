"""Search a data folder, and explain the rank of a page."""

from pathlib import Path
from typing import TYPE_CHECKING

from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.evaluate import Explanation, QueryDiagnosis
    from periplus.records import Query, ResultPage

__all__ = ["diagnose_query", "explain_rank", "search_folder"]


def search_folder(folder: Path, settings: Settings, query: "Query", observer: Observer = SILENT) -> "ResultPage":
    """Answer one query. Raise `BadInput` if it has no words."""
    if not query.words.strip():
        raise BadInput("There are no words to look for.", "For example: periplus search lighthouse.")
    from periplus.search import Searcher

    searcher = Searcher.open(open_data_folder(folder, create=False), settings)
    compile_kernels(observer)
    return searcher.search(query)


def explain_rank(
    folder: Path,
    settings: Settings,
    url: str,
    words: str,
    *,
    language: str = "",
    safe: int = 0,
    observer: Observer = SILENT,
) -> "Explanation":
    """Return why a page has its rank for these words, or why it is not among the results."""
    if not words.strip():
        raise BadInput("There are no words to look for.", "For example: periplus explain https://example.org/ tides.")
    from periplus.evaluate import explain

    open_data_folder(folder, create=False)
    compile_kernels(observer)
    return explain(folder, settings, url, words, language=language, safe=safe)


def diagnose_query(
    folder: Path, settings: Settings, query: "Query", url: str, observer: Observer = SILENT
) -> "QueryDiagnosis":
    """Return what became of a page in a query, and what would change it."""
    if not query.words.strip():
        raise BadInput("There are no words to look for.", "For example: periplus why tides https://example.org/.")
    from periplus.evaluate import diagnose
    from periplus.search import Searcher

    searcher = Searcher.open(open_data_folder(folder, create=False), settings, may_be_empty=True)
    compile_kernels(observer)
    return diagnose(searcher, folder, settings, query, url)
