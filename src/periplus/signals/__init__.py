"""Evidence from people: clicks, judgements, visit reports, popularity, trending pages, popular queries.

In: what people did with results and which pages they visited, appended by any process. Out: counts and estimates that
ranking, suggestions and the crawl use. Who did it is not stored.
"""

from periplus.signals.click_model import estimate_relevance
from periplus.signals.judgements import (
    Click,
    Judgement,
    read_clicks,
    read_judgements,
    write_click,
    write_judgement,
)
from periplus.signals.page_popularity import NO_POPULARITY, PagePopularity, read_page_popularity
from periplus.signals.popular_queries import (
    PopularQueries,
    count_damaged_marks,
    is_damaged_salt,
    read_popular_queries,
)
from periplus.signals.proxy_logs import import_proxy_logs
from periplus.signals.signal_versions import SignalsVersion, signals_version
from periplus.signals.trending import read_trending
from periplus.signals.visit_counts import VisitCounts, prune_visit_reports, read_visit_counts, update_visit_counts
from periplus.signals.visit_reports import (
    LogPosition,
    ReceivedVisit,
    ReportCount,
    append_received_visits,
    append_visit_reports,
    check_visit_log,
    read_visit_reports,
)

__all__ = [
    "NO_POPULARITY",
    "Click",
    "Judgement",
    "LogPosition",
    "PagePopularity",
    "PopularQueries",
    "ReceivedVisit",
    "ReportCount",
    "SignalsVersion",
    "VisitCounts",
    "append_received_visits",
    "append_visit_reports",
    "check_visit_log",
    "count_damaged_marks",
    "estimate_relevance",
    "import_proxy_logs",
    "is_damaged_salt",
    "prune_visit_reports",
    "read_clicks",
    "read_judgements",
    "read_page_popularity",
    "read_popular_queries",
    "read_trending",
    "read_visit_counts",
    "read_visit_reports",
    "signals_version",
    "update_visit_counts",
    "write_click",
    "write_judgement",
]
