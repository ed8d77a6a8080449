"""The demo of a cluster: the generated web of `periplus demo`, crawled, indexed and searched on several nodes.

Then a node is killed, other queries are asked, and the cluster has to be complete again within a minute. Every round
has queries of its own, since a broker would answer those of the round before from its cache.
"""

import contextlib
import json
import os
import shutil
import signal
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from periplus.app.clusters.cluster_commands import ClusterSession, cluster_down, cluster_up, is_complete
from periplus.app.clusters.generation_build import GenerationBuild
from periplus.app.demo_run import demo_queries, free_port
from periplus.app.kernel_compilation import compile_kernels
from periplus.app.observer import SILENT, Observer
from periplus.errors import ClusterError, NothingHere
from periplus.files import lock_folder, make_folder
from periplus.settings import Settings

if TYPE_CHECKING:
    from periplus.fakeweb import FakeWebPlan

__all__ = ["ClusterAnswer", "ClusterDemo", "open_cluster_demo"]

_COMPLETE_SECONDS: Final = 60.0
_ASK_SECONDS: Final = 10.0
_DEADLINE: Final = 5.0
"""Time for a query, in seconds: all nodes share the cores of this machine, and start just now."""
_HOSTS_FILE: Final = "fakeweb.hosts"


class ClusterAnswer(NamedTuple):
    """The answer of a broker to a question of the demo."""

    question: str
    titles: tuple[str, ...]
    total: int
    seconds: float
    correct: bool
    """Whether a right page is the first result."""
    missing: tuple[int, ...]
    """Shards that did not answer."""
    shards: int
    """Shards that were asked."""


@contextlib.contextmanager
def open_cluster_demo(
    settings: Settings, *, seed: int = 7, hosts: int = 30, pages: int = 1_500, observer: Observer = SILENT
) -> "Iterator[ClusterDemo]":
    """Start a cluster in a folder of its own below the data folder, and stop it at the end."""
    from periplus.fakeweb import FakeWebPlan

    folder = Path(settings.folder).resolve() / "demo-cluster"
    make_folder(folder, 0o700)
    compile_kernels(observer)
    change = msgspec.structs.replace
    settings = change(
        settings,
        folder=str(folder),
        fetch=change(settings.fetch, allow=("127.0.0.0/8",), hosts_file=str(folder / _HOSTS_FILE)),
        frontier=change(settings.frontier, delay=0.0, delay_factor=0.0, max_delay=0.0),
        crawl=change(settings.crawl, scope="web"),
        storage=change(settings.storage, url=(folder / "storage").as_uri()),
        cluster=change(settings.cluster, address="", key_file="", node_folder="", deadline=_DEADLINE),
        search=change(settings.search, budget_ms=round(1000 * _DEADLINE)),
        serve=change(
            settings.serve, port=free_port(settings.serve.host, settings.serve.port), deadline=_DEADLINE + 1.0
        ),
    )
    with lock_folder(folder, "demo"), contextlib.ExitStack() as stack:
        with contextlib.suppress(NothingHere, ClusterError):
            cluster_down(settings)  # that of an earlier demo that was killed
        for part in ("storage", "nodes"):
            shutil.rmtree(folder / part, ignore_errors=True)
        stack.callback(_end, settings)
        session = stack.enter_context(cluster_up(settings, observer))
        yield ClusterDemo(session, FakeWebPlan(seed, hosts, pages), observer)


def _end(settings: Settings) -> None:
    """Stop the nodes, however far the demo has come."""
    from periplus.cluster import stop_local_nodes

    with contextlib.suppress(NothingHere):
        stop_local_nodes(Path(settings.folder))


class ClusterDemo:
    """One run of the demo; its steps are called in their order."""

    def __init__(self, session: ClusterSession, plan: "FakeWebPlan", observer: Observer) -> None:
        self.session, self._plan, self._observer = session, plan, observer
        self.settings = session.settings
        self._rounds = 0

    def crawl(self) -> dict[str, Any]:
        """Serve the generated web in a process of its own, and crawl it; return the last status."""
        from periplus.fakeweb import run_in_process

        with run_in_process(self._plan, Path(self.settings.folder) / _HOSTS_FILE) as web:
            self._observer.message(f"A generated web of {self._plan.hosts:,} hosts is up.")
            return self.session.crawl(list(web.seeds))

    def build(self) -> GenerationBuild:
        """Build an index on all shards."""
        return self.session.build()

    def serve(self) -> str:
        """Start replicas and a broker; return its URL."""
        return self.session.serve()[0]

    def ask(self, *, whole: bool = True) -> Iterator[ClusterAnswer]:
        """Ask the broker questions, by HTTP, other ones in every round; where `whole`, until all shards have answered.

        The first round has those of `periplus demo`.
        """
        limit = time.monotonic() + _COMPLETE_SECONDS
        questions = demo_queries(self._plan, self._rounds)
        self._rounds += 1
        for query in questions:
            answer = self._search(query.words)
            while whole and (answer.get("shards") or {}).get("missing") and time.monotonic() < limit:
                answer = self._search(query.words)
            hits = answer["results"]
            coverage = answer.get("shards") or {}
            yield ClusterAnswer(
                query.words,
                tuple(hit["title"] for hit in hits),
                answer["number_of_results"],
                answer["seconds"],
                bool(hits) and hits[0]["url"] in query.urls,
                tuple(coverage.get("missing", ())),
                coverage.get("asked", 0),
            )

    def _search(self, words: str) -> dict[str, Any]:
        """Ask a broker; if none answers, the one that replaces it is asked."""
        limit = time.monotonic() + _COMPLETE_SECONDS
        while True:
            for url in self.session.broker_urls():
                address = f"{url.rstrip('/')}/api/search?{urllib.parse.urlencode({'q': words, 'count': 3})}"
                with (
                    contextlib.suppress(OSError),
                    urllib.request.urlopen(address, timeout=_ASK_SECONDS) as response,
                ):
                    answer: dict[str, Any] = json.loads(response.read())
                    return answer
            if time.monotonic() > limit:
                raise ClusterError("No broker answers.", "See: periplus cluster status.")
            time.sleep(0.2)

    def kill_node(self) -> str:
        """Kill the node with the most units, the head node excepted; return its label."""
        from periplus.cluster import read_local_cluster

        local = read_local_cluster(Path(self.settings.folder))
        if local is None:
            raise NothingHere("The cluster of the demo does not run.")
        units = self.session.client.status()["units"].values()
        load = {node.number: sum(unit["label"] == f"node-{node.number}" for unit in units) for node in local.nodes}
        victim = max((node for node in local.nodes if node.number), key=lambda node: (load[node.number], node.number))
        os.kill(victim.raylet, signal.SIGKILL)
        return f"node-{victim.number}"

    def wait_complete(self) -> float:
        """Wait until nothing is missing, on the nodes that are left; return how many seconds that took."""
        began = time.monotonic()
        self.session.client.wait(
            lambda status: len(status["nodes"]) < self.settings.cluster.nodes and is_complete(status),
            "complete again",
            _COMPLETE_SECONDS,
        )
        return time.monotonic() - began
