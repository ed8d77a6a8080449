"""Evidence from people: clicks, judgements, visit reports, popularity, trending pages, popular queries.

In: what people did with results and which pages they visited, appended by any process. Out: counts and estimates that
ranking, suggestions and the crawl use. Who did it is not stored.
"""

from periplus.signals.click_model import estimate_liking
from periplus.signals.judgements import (
    CLICKS,
    Click,
    Judgement,
    read_clicks,
    read_judgements,
    write_click,
    write_judgement,
)
from periplus.signals.page_popularity import NOBODY, VISITS, Visited, read_visited
from periplus.signals.popular_queries import Popular
from periplus.signals.proxy_logs import import_proxy_logs
from periplus.signals.trending import read_rising
from periplus.signals.visit_counts import Popularity, forget_read, gather_visits, read_popularity
from periplus.signals.visit_reports import SinkPosition, Taken, read_sink, take_visits

__all__ = [
    "CLICKS",
    "NOBODY",
    "VISITS",
    "Click",
    "Judgement",
    "Popular",
    "Popularity",
    "SinkPosition",
    "Taken",
    "Visited",
    "estimate_liking",
    "forget_read",
    "gather_visits",
    "import_proxy_logs",
    "read_clicks",
    "read_judgements",
    "read_popularity",
    "read_rising",
    "read_sink",
    "read_visited",
    "take_visits",
    "write_click",
    "write_judgement",
]
