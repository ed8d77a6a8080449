"""A generated web with hosts, pages, links and misbehaving servers, served on loopback addresses.

In: a `FakeWebPlan` (seed, hosts, pages, trouble); the same plan yields the same web, byte for byte. Out: responses to
requests (`FakeWeb.response`, without sockets), the ground truth to compare a crawl or a ranking with
(`FakeWeb.truth`), and servers: `serve_forever` in this thread, `run_in_thread` in a background thread,
`run_in_process` in a separate process.

    web = FakeWeb(FakeWebPlan(seed=7, hosts=30, pages=1500))
    with run_in_thread(web) as server:
        server.write_hosts_file(path)      # 'ADDRESS:PORT NAME' lines for the crawler
        ...                                # crawl web.seeds
        server.requests().counts           # number of requests for each URL

`DistanceProxy` delays the bytes between two places on this machine, and can be cut.

The package does not depend on the crawler that will visit it.
"""

from periplus.fakeweb.fake_web import FakeWeb
from periplus.fakeweb.fake_web_plan import TROUBLE, FakeWebPlan
from periplus.fakeweb.geoip_file import GeoipEntry, write_geoip_file
from periplus.fakeweb.model.fake_regions import FAKE_REGIONS, FakeRegion
from periplus.fakeweb.model.ground_truth import ExpectedPage, GroundTruth, JudgedQuery
from periplus.fakeweb.model.topic_locality import TopicLocality
from periplus.fakeweb.server.distance_proxy import DistanceProxy
from periplus.fakeweb.server.fake_response import FakeResponse, ScriptStep
from periplus.fakeweb.server.listener import serve_forever
from periplus.fakeweb.server.request_log import LoggedRequest, RequestCounts
from periplus.fakeweb.server.server_runner import FakeWebProcess, FakeWebServer, run_in_process, run_in_thread

__all__ = [
    "FAKE_REGIONS",
    "TROUBLE",
    "DistanceProxy",
    "ExpectedPage",
    "FakeRegion",
    "FakeResponse",
    "FakeWeb",
    "FakeWebPlan",
    "FakeWebProcess",
    "FakeWebServer",
    "GeoipEntry",
    "GroundTruth",
    "JudgedQuery",
    "LoggedRequest",
    "RequestCounts",
    "ScriptStep",
    "TopicLocality",
    "run_in_process",
    "run_in_thread",
    "serve_forever",
    "write_geoip_file",
]
