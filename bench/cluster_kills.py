"""Kill -9 in a cluster: crawl shards, nodes, the coordinator, builds, brokers and replicas, at random moments.

.venv/bin/python bench/cluster_kills.py [--kills 60] [--seed 1] [--victims node,broker,build] [--pages 2000]

Three Ray nodes on this machine; a node that is killed is replaced by an empty one. Half of the kills hit the crawl of a
fake web, a sixth the build of an index, which is repeated until all of them have, a third serving, while queries are
asked, then pages are published. In every phase each kind of victim is drawn once before one is drawn again. Checked:
every good page is stored, none twice, in what storage has; no host is asked again before its pause is over, at the
server's side; every answer equals that before the kills, or says which shards did not answer; every publication that
was acknowledged is found, once; afterwards all brokers answer alike. Ends with 1 when one fails. Recovery times are
those from a kill until nothing is missing, by phase and kind of victim.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from kills import shortest_pause
from periplus.app import ClusterSession, cluster_up, compile_kernels
from periplus.app.clusters.cluster_commands import is_complete
from periplus.cli import PlainObserver
from periplus.cluster import read_local_cluster, stop_local_nodes
from periplus.crawl import select_owned
from periplus.errors import NothingHere, PeriplusError
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

Condition = Callable[[dict[str, Any]], bool]
SHARDS = 4
CONNECTIONS = 8
RESPAWN = 2.0
LONGEST = 300.0
"""Seconds within which a cluster has to be complete again."""
VICTIMS = {
    "crawl": ("crawl", "crawl", "node", "coordinator"),
    "build": ("build", "build", "node", "coordinator"),
    "serving": ("replica", "replica", "broker", "node", "coordinator"),
}
"""By phase: what is killed."""


class Killer:
    """Kills parts of a cluster and measures how long it takes until nothing is missing."""

    def __init__(self, session: ClusterSession, folder: Path, chance: random.Random, victims: list[str]) -> None:
        self._session, self._folder, self._chance = session, folder, chance
        self._victims = victims
        self.during_crawl = 0
        self.recoveries: dict[str, dict[str, list[float]]] = {}
        self.kills: dict[str, Counter[str]] = {phase: Counter() for phase in VICTIMS}

    def kinds(self, phase: str) -> list[str]:
        """Return what is killed in a phase, in a random order."""
        kinds = [kind for kind in VICTIMS[phase] if not self._victims or kind in self._victims]
        return self._chance.sample(kinds, len(kinds))

    def kill(self, kind: str) -> Condition | None:
        """Kill a part of a kind; return what is so once the coordinator has noticed; None if there is none to kill."""
        status = self._session.client.status()
        if kind == "node":
            local = read_local_cluster(self._folder)
            assert local is not None
            victim = self._chance.choice([node for node in local.nodes if node.number])
            process, label = victim.raylet, f"node-{victim.number}"
            ids = {node["id"] for node in status["nodes"] if node["label"] == label}
            if len(status["nodes"]) < len(local.nodes) or len(ids) != 1:
                return None  # one that was killed is not back yet
            noticed: Condition = lambda status: not ids & {node["id"] for node in status["nodes"]}  # noqa: E731
        elif kind == "coordinator":
            process = status["pid"]
            noticed = lambda status: status["pid"] != process  # noqa: E731
        else:
            names = [n for n, unit in status["units"].items() if unit["kind"] == kind and unit["state"] == "running"]
            if not names:
                return None
            name = self._chance.choice(names)
            process = process_of(status["units"][name])
            noticed = lambda status: process_of(status["units"].get(name, {"pid": -1})) not in (0, process)  # noqa: E731
        if not process:
            return None
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:  # it was killed before, and the coordinator has not noticed yet
            return None
        return noticed

    def note_crawl(self) -> None:
        """Note how many kills there were before the crawl was done."""
        if not self._session.client.status().get("crawl", {}).get("is_done"):
            self.during_crawl = self.kills["crawl"].total() + 1

    def kill_often(
        self, phase: str, count: int, is_whole: Condition, is_due: Callable[[], bool] = lambda: True
    ) -> None:
        """Kill so many times; after two of three kills wait until the cluster is whole again."""
        done, kinds = 0, []
        while done < count:
            kinds = kinds or self.kinds(phase)
            noticed = self.kill(kinds[0]) if is_due() else None
            if noticed is None:
                time.sleep(0.2)
                continue
            kind = kinds.pop(0)
            done += 1
            self.kills[phase][kind] += 1
            began = time.monotonic()
            if self._chance.random() < 0.67 or done == count:
                self._wait(noticed, is_whole)
                seconds = round(time.monotonic() - began, 1)
                self.recoveries.setdefault(phase, {}).setdefault(kind, []).append(seconds)
                print(f"  killed {kind}: {seconds} s", flush=True)
            else:
                print(f"  killed {kind}, and did not wait", flush=True)
            time.sleep(self._chance.uniform(0.2, 3.0))

    def _wait(self, noticed: Condition, is_whole: Condition) -> None:
        self._session.client.wait(lambda status: noticed(status) and is_whole(status), "complete again", LONGEST)


def process_of(unit: dict[str, Any]) -> int:
    """Return the process of a unit; of a broker that of its web server; 0 if it has none."""
    description = unit.get("description", unit)
    return int(description.get("process") or description.get("pid") or 0)


class Client:
    """Asks queries and publishes pages while the cluster is killed."""

    def __init__(self, session: ClusterSession, key: str, queries: list[str]) -> None:
        self._session, self._key, self._queries = session, key, queries
        self.stopped = threading.Event()
        self.answers: Counter[str] = Counter()
        self.wrong: list[dict[str, Any]] = []
        self.published: list[str] = []
        self.refusals: Counter[str] = Counter()
        self.expected: dict[str, list[str]] = {}
        self._urls = session.broker_urls()

    def search(self, words: str, seconds: float = 10.0, only: str = "") -> dict[str, Any]:
        """Return the answer of a broker; raise `OSError` if none answers."""
        for url in [only] if only else random.sample(self._urls, len(self._urls)):
            with contextlib.suppress(OSError):
                address = f"{url.rstrip('/')}/api/search?{urllib.parse.urlencode({'q': words, 'count': 10})}"
                with urllib.request.urlopen(address, timeout=seconds) as response:
                    answer: dict[str, Any] = json.loads(response.read())
                    return answer
        raise OSError("no broker answers")

    def learn(self) -> None:
        """Note the answers of the whole cluster."""
        for words in self._queries:
            answer = self.search(words)
            if answer.get("shards", {}).get("missing"):
                raise SystemExit("The cluster is not complete before the kills.")
            self.expected[words] = [result["url"] for result in answer["results"]]

    def ask(self) -> None:
        """Ask queries until stopped."""
        while not self.stopped.is_set():
            words = random.choice(self._queries)
            try:
                answer = self.search(words)
            except OSError:
                self.answers["none"] += 1
                with contextlib.suppress(PeriplusError):
                    self._urls = self._session.broker_urls() or self._urls
                time.sleep(0.2)
                continue
            missing = answer.get("shards", {}).get("missing")
            urls = [result["url"] for result in answer["results"]]
            if missing or answer.get("partial"):
                self.answers["partial"] += 1
            elif urls == self.expected[words]:
                self.answers["right"] += 1
            else:
                self.answers["wrong"] += 1
                self.wrong.append({"words": words, "expected": self.expected[words], "answer": answer})
            time.sleep(0.02)

    def compare_brokers(self) -> int:
        """Return how many queries two brokers answer differently, or in part, while nothing is killed."""
        differences = 0
        for words in self._queries:
            answers = [self.search(words, only=url) for url in self._urls]
            lists = [[result["url"] for result in answer["results"]] for answer in answers]
            missing = [answer.get("shards", {}).get("missing") for answer in answers]
            if any(missing) or any(other != lists[0] for other in lists):
                differences += 1
                print(f"  brokers differ: {words!r}: {lists}, missing {missing}", flush=True)
        return differences

    def publish(self) -> None:
        """Publish pages until stopped; note those that were acknowledged."""
        number = 0
        while not self.stopped.is_set():
            number += 1
            word = f"zweiundvierzig{number:05d}"
            body = {
                "title": f"Publication {word}",
                "content": f"The word {word} is here only.",
                "url": f"https://p{number}.example/",
            }
            request = urllib.request.Request(
                f"{random.choice(self._urls).rstrip('/')}/api/publish",
                json.dumps(body).encode(),
                {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"},
            )
            try:
                with urllib.request.urlopen(request, timeout=15) as response:
                    if response.status in (200, 201, 202):
                        self.published.append(word)
            except OSError as error:
                self.refusals[str(error)[:100]] += 1
                with contextlib.suppress(PeriplusError):
                    self._urls = self._session.broker_urls() or self._urls
            time.sleep(0.5)


def whole(status: dict[str, Any]) -> bool:
    """Return whether every unit runs."""
    return bool(status["units"]) and not status["missing"]


def build_often(session: ClusterSession, killer: Killer, kills: int) -> dict[str, int]:
    """Build until all kills have hit a build; return figures."""
    failed: list[BaseException] = []

    def kill() -> None:
        try:
            # A build may end while a unit of it is waited for: then nothing is missing either.
            killer.kill_often("build", kills, lambda s: not s["missing"], lambda: session.client.status()["building"])
        except PeriplusError as error:
            failed.append(error)

    killing = threading.Thread(target=kill)
    killing.start()
    builds, attempts = 0, 0
    while True:
        last = not killing.is_alive()
        built = session.build()
        builds, attempts = builds + 1, attempts + built.attempts
        if last:
            break
    if failed:
        raise failed[0]
    return {"builds": builds, "build_attempts": attempts, "documents": built.documents}


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


def check_publications(client: Client) -> dict[str, int]:
    """Return how many acknowledged publications are not found, and how many are found more than once."""
    lost = twice = 0
    for word in client.published:
        limit = time.monotonic() + 30
        count = 0
        while time.monotonic() < limit:
            count = len([r for r in client.search(word)["results"] if word in r["title"]])
            if count:
                break
            time.sleep(0.5)
        lost += not count
        twice += count > 1
    return {"publications": len(client.published), "publications_lost": lost, "publications_twice": twice}


def run(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run all phases; return the figures."""
    plan = FakeWebPlan(seed=asked.seed, hosts=asked.hosts, pages=asked.pages)
    truth = FakeWeb(plan).truth()
    chance = random.Random(asked.seed)
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
    in_crawl, in_build = asked.kills // 2, asked.kills // 6
    in_serving = asked.kills - in_crawl - in_build
    figures: dict[str, Any] = {"kills": asked.kills, "seed": asked.seed}
    with cluster_up(settings, PlainObserver(), respawn=RESPAWN) as session:
        killer = Killer(session, folder, chance, [kind for kind in asked.victims.split(",") if kind])
        with run_in_process(plan, folder / "hosts", log=True) as web:
            print(f"crawl: {in_crawl} kills", flush=True)
            session.start_crawl(list(web.seeds))
            session.client.wait(whole, "complete", LONGEST)
            killer.kill_often("crawl", in_crawl, whole, lambda: killer.note_crawl() or True)
            session.crawl()
            requests = web.requests()
        figures |= check_pages(session, truth, folder)
        again = sum(n - 1 for url, n in requests.counts.items() if not url.endswith("/robots.txt"))
        figures |= {"asked_again": again, "shortest_pause": round(shortest_pause(requests), 4), "pause": asked.delay}
        print(f"build: {in_build} kills", flush=True)
        figures |= build_often(session, killer, in_build)
        print(f"serving: {in_serving} kills", flush=True)
        session.serve()
        client = Client(session, key, [query.words for query in truth.queries][:20])
        client.learn()
        # One after the other: publications change the statistics of the collection, and with them the order of results.
        for works, count in (
            ((client.ask, client.ask), in_serving - in_serving // 2),
            ((client.publish,), in_serving // 2),
        ):
            client.stopped.clear()
            threads = [threading.Thread(target=work) for work in works]
            for thread in threads:
                thread.start()
            try:
                killer.kill_often("serving", count, is_complete)
            finally:
                client.stopped.set()
                for thread in threads:
                    thread.join()
        session.wait_complete(LONGEST)
        client._urls = session.broker_urls()
        figures |= check_publications(client)
        figures["publications_refused"] = dict(client.refusals)
        figures["brokers_differ"] = client.compare_brokers()
        figures |= {f"answers_{name}": count for name, count in client.answers.items()}
        figures |= {"answers_wrong": client.answers["wrong"], "wrong_queries": client.wrong[:10]}
        figures["killed"] = {phase: dict(kinds) for phase, kinds in killer.kills.items()}
        figures["killed_before_the_crawl_was_done"] = killer.during_crawl
        figures["recovery_seconds"] = killer.recoveries
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
    asked.delay = asked.delay or 0.1 * asked.kills
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
        print(f"{name:>22}  {value}")
    faults = (
        "pages_lost",
        "pages_stored_twice",
        "publications_lost",
        "publications_twice",
        "answers_wrong",
        "brokers_differ",
    )
    is_idle = not figures["publications"] or not figures.get("answers_right")  # nothing was checked then
    if is_idle or any(figures[name] for name in faults) or figures["shortest_pause"] < asked.delay:
        sys.exit("FAILED")
    print(f"{asked.kills} kills: nothing lost, nothing stored twice, no pause broken, no answer wrong")


if __name__ == "__main__":
    main()
