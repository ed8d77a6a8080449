"""Kill -9 at random moments: a crawl of a fake web is killed again and again, and has to come to the whole truth.

.venv/bin/python bench/kills.py [--kills 200] [--shards 3] [--hosts 60] [--pages 6000] [--delay 0.1] [--seed 1]

With several shards, a kill hits one of them or, every fourth time, their supervisor, which is then started again; every
tenth time shards are added or removed beforehand, so that kills also hit hosts that move.
Measured at the server's side: every good page is stored, none twice; nothing is asked for twice beyond what was under
way at a kill; no host is ever asked again before its pause is over, also across restarts. Ends with 1 when one fails.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from periplus.crawl import CrawlControl, Crawler, Supervisor
from periplus.errors import BadInput
from periplus.fakeweb import FakeWeb, FakeWebPlan, RequestCounts, run_in_process
from periplus.parse import parse
from periplus.records import FetchRequest, FetchResult, Outcome
from periplus.settings import CrawlSettings, FetchSettings, FrontierSettings, Settings
from periplus.store import PageStore
from periplus.url import parse_address
from record import save

CONNECTIONS = 16
LONGEST = 5.0
"""Seconds that a supervisor has to start a shard."""


def crawl_apart(folder: Path, settings: Settings, seeds: tuple[str, ...], shards: int) -> int:
    """Crawl in a child of this process, which has everything loaded already; give its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        crawl(folder, settings, seeds, shards)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def warm(settings: Settings) -> None:
    """Read a page, so that all processes forked from this one have loaded what reading needs."""
    headers = (("content-type", "text/html"),)
    parse(
        FetchResult(FetchRequest(parse_address("http://warm.invalid/")), Outcome.OK, 0.0, 200, headers, b"<p>x"),
        settings.parse,
    )


def crawl(folder: Path, settings: Settings, seeds: tuple[str, ...], shards: int) -> None:
    """Crawl to the end, in one process or several."""
    if shards > 1:
        Supervisor(folder, settings, seeds, shards).run()
    else:
        Crawler(folder, settings, seeds).run()


def ended(child: int) -> int | None:
    """Return the exit code of a child that ended by itself."""
    number, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if number else None


def kill_often(
    folder: Path, settings: Settings, seeds: tuple[str, ...], kills: int, chance: random.Random, shards: int = 1
) -> tuple[int, int]:
    """Crawl, and kill processes at random moments; give how many before the crawl was done, and how many of all."""
    child = whole = 0
    try:
        for number in range(kills):
            child = child or crawl_apart(folder, settings, seeds, shards)
            if shards > 1 and number % 10 == 5:
                with contextlib.suppress(BadInput):
                    CrawlControl(folder).resize(chance.randint(2, 4))
            # Half of the kills come early, while the crawl recovers; the others while it runs.
            end = time.monotonic() + (chance.uniform(0.0, 0.15) if number % 2 else chance.uniform(0.1, 0.8))
            while time.monotonic() < end:
                if (code := ended(child)) is not None:
                    child = 0
                    if code:
                        sys.exit(f"The crawler failed by itself after {number} kills.")
                    return number, whole
                time.sleep(0.001)
            victim = child if shards == 1 or number % 4 == 3 else shard_to_kill(folder, child, chance)
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim or child, signal.SIGKILL)
            if victim in (0, child):
                os.waitpid(child, 0)
                child, whole = 0, whole + 1
        return kills, whole
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def shard_to_kill(folder: Path, supervisor: int, chance: random.Random) -> int:
    """Return the process of a shard of this supervisor as soon as there is one; 0 if none starts."""
    limit = time.monotonic() + LONGEST
    while time.monotonic() < limit:
        said = [status["process"] for status in CrawlControl(folder).status().get("shards", ())]
        found = [process for process in said if parent_of(process) == supervisor]
        if found:
            return chance.choice(found)
        time.sleep(0.001)
    return 0


def parent_of(process: int) -> int:
    """Return the parent of a process, so that a reused process number of another program is never killed."""
    try:
        state, parent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return int(parent) if state != "Z" else 0


def shortest_pause(requests: RequestCounts) -> float:
    """Return the shortest time between two requests to one host, as the server saw them."""
    last: dict[str, float] = {}
    shortest = float("inf")
    for request in requests.log:
        shortest = min(shortest, request.time - last.get(request.host, -1e9))
        last[request.host] = request.time
    return shortest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--delay", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="keep no figures")
    asked = parser.parse_args()
    plan = FakeWebPlan(seed=asked.seed, hosts=asked.hosts, pages=asked.pages)
    truth = FakeWeb(plan).truth()
    folder = Path(tempfile.mkdtemp(prefix="bench-kills-"))
    try:
        with run_in_process(plan, folder / "hosts", log=True) as server:
            settings = Settings(
                fetch=FetchSettings(allow=("127.0.0.0/8",), hosts_file=str(folder / "hosts"), connections=CONNECTIONS),
                frontier=FrontierSettings(delay=asked.delay, delay_factor=0, max_delay=asked.delay),
                crawl=CrawlSettings(scope="web", commit_seconds=0.1, checkpoint_seconds=0.3),
            )
            warm(settings)
            chance, data = random.Random(asked.seed), folder / "data"
            kills, whole = kill_often(data, settings, truth.seeds, asked.kills, chance, asked.shards)
            began = time.monotonic()
            crawl(data, settings, truth.seeds, asked.shards)
            print(f"killed {kills} times, then {time.monotonic() - began:.0f} s to the end")
            requests = server.requests()
        with PageStore.open(folder / "data" / "store", settings.store) as store:
            visits = list(store.records())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    stored = Counter(visit.url for visit in visits)
    kept = {visit.url for visit in visits if visit.page is not None or visit.duplicate_of}
    lost = sum(page.url not in kept for page in truth.pages)
    twice = sum(times - 1 for times in stored.values())
    again = sum(n - 1 for url, n in requests.counts.items() if not url.endswith("/robots.txt"))
    pause = shortest_pause(requests)
    figures = {
        "kills": kills,
        "shards": asked.shards,
        "kills_of_the_supervisor": whole if asked.shards > 1 else 0,
        "good_pages": len(truth.pages),
        "lost": lost,
        "stored_twice": twice,
        "asked_again": again,
        "asked_again_allowed": kills * CONNECTIONS,
        "shortest_pause": round(pause, 4),
        "pause_wanted": asked.delay,
    }
    if not asked.quick:
        save("kills" if asked.shards > 1 else "kills-single", figures)
    for name, value in figures.items():
        print(f"{name:>20}  {value}")
    if lost or twice or again > kills * CONNECTIONS or pause < asked.delay:
        sys.exit("FAILED")
    print(f"{kills} kills: no page lost, none stored twice, no pause broken")


if __name__ == "__main__":
    main()
