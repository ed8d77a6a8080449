"""Evidence from people: clicks, judgements, visit reports, popularity, trending pages, popular queries.

In: what people did with results and which pages they visited, appended by any process. Out: counts and estimates that
ranking, suggestions and the crawl use. Who did it is not stored.
"""

from periplus.signals.click_model import estimate_relevance
from periplus.signals.judgements import (
    CLICKS_FILE,
    Click,
    Judgement,
    read_clicks,
    read_judgements,
    write_click,
    write_judgement,
)
from periplus.signals.page_popularity import NO_POPULARITY, VISIT_COUNTS_FILE, PagePopularity, read_page_popularity
from periplus.signals.popular_queries import PopularQueries
from periplus.signals.proxy_logs import import_proxy_logs
from periplus.signals.trending import read_trending
from periplus.signals.visit_counts import VisitCounts, prune_visit_reports, read_visit_counts, update_visit_counts
from periplus.signals.visit_reports import LogPosition, ReportCount, append_visit_reports, read_visit_reports

__all__ = [
    "CLICKS_FILE",
    "NO_POPULARITY",
    "VISIT_COUNTS_FILE",
    "Click",
    "Judgement",
    "LogPosition",
    "PagePopularity",
    "PopularQueries",
    "ReportCount",
    "VisitCounts",
    "append_visit_reports",
    "estimate_relevance",
    "import_proxy_logs",
    "prune_visit_reports",
    "read_clicks",
    "read_judgements",
    "read_page_popularity",
    "read_trending",
    "read_visit_counts",
    "read_visit_reports",
    "update_visit_counts",
    "write_click",
    "write_judgement",
]
