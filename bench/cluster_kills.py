"""Kill -9 in a cluster: crawl shards, nodes, the coordinator, builds, brokers and replicas, at random moments.

.venv/bin/python bench/cluster_kills.py [--kills 60] [--seed 1] [--victims node,broker,build] [--pages 2000]

Three Ray nodes on this machine; a node that is killed is replaced by an empty one. The phases, each with its kills:
- crawl: of a fake web;
- build: of an index, while its units execute a step; repeated until all kills of the phase have hit a build;
- serving: while queries are asked;
- publishing: while pages are published, and some of them withdrawn;
- rebuild: of an index with the published pages, while it is served and more pages are published.
In every phase each kind of victim is drawn once before one is drawn again. Checked: every good page is stored, none
twice, in what storage has; no host is asked again before its pause is over, at the server's side; every answer equals
that before the kills, or says which shards did not answer; every publication that was acknowledged is found, once,
unless its withdrawal was; afterwards all brokers answer alike; after another build the logs of publications are empty,
and the same is found. Ends with 1 when one fails. A recovery time is that from a kill until nothing is missing.
"""

import argparse
import contextlib
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from cluster_client import Client
from cluster_killer import LONGEST, VICTIMS, Killer, is_building
from kills import shortest_pause
from periplus.app import ClusterSession, cluster_up, compile_kernels
from periplus.app.clusters.cluster_commands import is_complete
from periplus.cli import PlainObserver
from periplus.cluster import PublicationLog, stop_local_nodes
from periplus.crawl import select_owned
from periplus.errors import NothingHere
from periplus.fakeweb import FakeWeb, FakeWebPlan, run_in_process
from periplus.serve import ApiKeys
from periplus.settings import (
    ClusterSettings,
    CrawlSettings,
    FetchSettings,
    FrontierSettings,
    SearchSettings,
    ServeSettings,
    Settings,
    StorageSettings,
)
from periplus.storage import restore_shard
from periplus.store import PageStore
from record import save

SHARDS = 4
CONNECTIONS = 8
RESPAWN = 2.0
SHARES = {"crawl": 0.35, "build": 0.15, "serving": 0.2, "publishing": 0.15, "rebuild": 0.15}
"""Which part of the kills hits each phase."""
FAULTS = (
    "pages_lost",
    "pages_stored_twice",
    "publications_lost",
    "publications_twice",
    "withdrawals_lost",
    "answers_wrong",
    "brokers_differ",
    "left_in_logs",
)


def whole(status: dict[str, Any]) -> bool:
    """Return whether every unit runs."""
    return bool(status["units"]) and not status["missing"]


def answers(status: dict[str, Any]) -> bool:
    """Return whether nothing is missing, and all brokers, if there are any, answer: a build may end meanwhile."""
    brokers = [unit for unit in status["units"].values() if unit["kind"] == "broker"]
    return not status["missing"] and all(unit["description"].get("url") for unit in brokers)


def divide_kills(kills: int) -> dict[str, int]:
    """Return how many kills hit each phase."""
    counts = {phase: round(kills * share) for phase, share in SHARES.items()}
    counts["serving"] += kills - sum(counts.values())
    return counts


def build_often(session: ClusterSession, killer: Killer, phase: str, kills: int) -> dict[str, int]:
    """Build until all kills have hit a build, and once more; return figures."""
    failures: list[BaseException] = []

    def kill() -> None:
        try:
            killer.kill_often(phase, kills, answers, is_building)
        except BaseException as error:  # raised again in the thread that builds
            failures.append(error)

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    builds, attempts = 0, 0
    while True:
        is_last = not killing.is_alive()
        built = session.build()
        builds, attempts = builds + 1, attempts + built.attempts
        if failures:
            raise failures[0]
        if is_last:
            break
    return {f"{phase}_builds": builds, f"{phase}_attempts": attempts, f"{phase}_documents": built.documents}


@contextlib.contextmanager
def at_work(client: Client, *works: Callable[[], None]) -> Iterator[None]:
    """Ask or publish in threads during the block."""
    client.stopped.clear()
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        client.stopped.set()
        for thread in threads:
            thread.join()


def check_pages(session: ClusterSession, truth: Any, folder: Path) -> dict[str, int]:
    """Return how many good pages storage has lost, and how many it has twice."""
    stored: Counter[str] = Counter()
    kept = set()
    shards = session.client.topology().owner_numbers
    for number in shards:
        target = folder / f"check-{number}"
        with contextlib.suppress(NothingHere):
            restore_shard(session.storage, number, target)
            with PageStore.open(target / "store", session.settings.store) as store:
                for record in select_owned(store.records(), shards, number):
                    stored[record.url] += 1
                    if record.page is not None or record.duplicate_of:
                        kept.add(record.url)
        shutil.rmtree(target, ignore_errors=True)
    return {
        "good_pages": len(truth.pages),
        "pages_lost": sum(page.url not in kept for page in truth.pages),
        "pages_stored_twice": sum(times - 1 for times in stored.values()),
    }


def count_logged(session: ClusterSession) -> int:
    """Return how many publications are in logs, once those that the index has were removed, or a minute is over."""
    limit = time.monotonic() + 60
    while True:
        shards = session.client.topology().shard_numbers
        count = sum(len(PublicationLog(session.storage, number).names()) for number in shards)
        if not count or time.monotonic() > limit:
            return count
        time.sleep(1.0)


def run(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run all phases; return the figures."""
    plan = FakeWebPlan(seed=asked.seed, hosts=asked.hosts, pages=asked.pages)
    truth = FakeWeb(plan).truth()
    settings = Settings(
        folder=str(folder),
        fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(folder / "hosts"), connections=CONNECTIONS),
        frontier=FrontierSettings(delay=asked.delay, delay_factor=0, max_delay=asked.delay),
        crawl=CrawlSettings(scope="web", commit_seconds=0.1, checkpoint_seconds=0.5),
        search=SearchSettings(budget_ms=5_000),
        storage=StorageSettings(url=(folder / "storage").as_uri()),
        serve=ServeSettings(port=0, deadline=5.0, rate=0.0),
        cluster=ClusterSettings(nodes=3, shards=SHARDS, replicas=2, brokers=2, deadline=3.0, heartbeat_seconds=1.0),
    )
    key = ApiKeys(folder).add("bench", "publish")
    kills = divide_kills(asked.kills)
    figures: dict[str, Any] = {"kills": asked.kills, "seed": asked.seed, "other_load": os.getloadavg()[0]}
    with cluster_up(settings, PlainObserver(), respawn=RESPAWN) as session:
        victims = [kind for kind in asked.victims.split(",") if kind]
        killer = Killer(session, folder, random.Random(asked.seed), victims)
        with run_in_process(plan, folder / "hosts", log=True) as web:
            print(f"crawl: {kills['crawl']} kills", flush=True)
            session.start_crawl(list(web.seeds))
            session.client.wait(whole, "complete", LONGEST)
            killer.kill_often("crawl", kills["crawl"], whole)
            session.crawl()
            requests = web.requests()
        figures |= check_pages(session, truth, folder)
        again = sum(n - 1 for url, n in requests.counts.items() if not url.endswith("/robots.txt"))
        figures |= {"asked_again": again, "shortest_pause": round(shortest_pause(requests), 4), "pause": asked.delay}
        print(f"build: {kills['build']} kills", flush=True)
        figures |= build_often(session, killer, "build", kills["build"])
        session.serve()
        client = Client(session, key, [query.words for query in truth.queries][:20], asked.seed)
        client.learn()
        # One after the other: publications change the statistics of the collection, and with them the order of results.
        print(f"serving: {kills['serving']} kills", flush=True)
        with at_work(client, client.ask, client.ask):
            killer.kill_often("serving", kills["serving"], is_complete)
        print(f"publishing: {kills['publishing']} kills", flush=True)
        with at_work(client, client.publish):
            killer.kill_often("publishing", kills["publishing"], is_complete)
            print(f"rebuild: {kills['rebuild']} kills", flush=True)
            figures |= build_often(session, killer, "rebuild", kills["rebuild"])
        session.wait_complete(LONGEST)
        print("checks", flush=True)
        first = client.check_publications()
        session.build()
        session.wait_complete(LONGEST)
        figures["left_in_logs"] = count_logged(session)
        second = client.check_publications()
        figures |= {name: first[name] + second[name] for name in first}
        figures |= {
            "publications": len(client.published),
            "publications_withdrawn": len(client.withdrawn),
            "publications_attempted": client.attempts["POST"],
            "publications_refused": dict(client.refusals),
            "brokers_differ": client.compare_brokers(),
        }
        figures |= {f"answers_{name}": client.answers[name] for name in ("right", "partial", "none", "wrong")}
        figures |= {"wrong_queries": client.wrong[:10]}
        figures |= killer.figures()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=2_000)
    parser.add_argument("--delay", type=float, default=0.0, help="pause of hosts; by default so that crawls last")
    parser.add_argument("--victims", default="", help="kinds of victims, with commas: crawl,node,coordinator,...")
    parser.add_argument("--quick", action="store_true", help="keep no figures")
    asked = parser.parse_args()
    asked.delay = asked.delay or 0.03 * asked.kills  # the largest host has 342 pages
    unknown = set(filter(None, asked.victims.split(","))) - {kind for kinds in VICTIMS.values() for kind in kinds}
    if unknown:
        parser.error(f"There are no victims of kind {', '.join(sorted(unknown))}.")
    compile_kernels(PlainObserver())
    folder = Path(tempfile.mkdtemp(prefix="bench-cluster-"))
    try:
        figures = run(asked, folder)
    finally:
        with contextlib.suppress(NothingHere):
            stop_local_nodes(folder)
        shutil.rmtree(folder, ignore_errors=True)
    if not asked.quick:
        save("cluster_kills", figures)
    for name, value in figures.items():
        if name != "each":
            print(f"{name:>22}  {value}")
    is_idle = not figures["publications"] or not figures["answers_right"]  # nothing was checked then
    if is_idle or any(figures[name] for name in FAULTS) or figures["shortest_pause"] < asked.delay:
        sys.exit("FAILED")
    print(f"{len(figures['each'])} kills: nothing lost, nothing stored twice, no pause broken, no answer wrong")


if __name__ == "__main__":
    main()
