"""A whole fake web, seeded: hosts, pages, links and trouble, served on loopback addresses.

In goes a `FakeWebPlan` (seed, hosts, pages, trouble); the same plan gives the same web, byte for byte. Out come answers
to requests (`FakeWeb.response`, without sockets), the truth to compare a crawl or a ranking with (`FakeWeb.truth`), and
servers: `serve_forever` in this thread, `running` in a thread beside, `running_apart` in a process of its own.

    web = FakeWeb(FakeWebPlan(seed=7, hosts=30, pages=1500))
    with running(web) as server:
        server.write_hosts_file(path)      # 'ADDRESS:PORT NAME' lines for the crawler
        ...                                # crawl web.seeds
        server.requests().counts           # how often each URL was asked for

The room stands alone: it knows nothing of the crawler that will visit it.
"""

from periplus.fakeweb.fake_web import FakeWeb
from periplus.fakeweb.fake_web_plan import TROUBLE, FakeWebPlan
from periplus.fakeweb.model.locality import Locality
from periplus.fakeweb.model.truth import GoodPage, Question, Truth
from periplus.fakeweb.server.fake_response import Response, Step
from periplus.fakeweb.server.listener import serve_forever
from periplus.fakeweb.server.request_log import Request, Requests
from periplus.fakeweb.server.runner import RunningApart, RunningWeb, running, running_apart

__all__ = [
    "TROUBLE",
    "FakeWeb",
    "FakeWebPlan",
    "GoodPage",
    "Locality",
    "Question",
    "Request",
    "Requests",
    "Response",
    "RunningApart",
    "RunningWeb",
    "Step",
    "Truth",
    "running",
    "running_apart",
    "serve_forever",
]
