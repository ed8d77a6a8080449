"""Clients that ask a server for pages: wrk where it is installed, and our own, which times each kind of query apart."""

import asyncio
import random
import re
import subprocess
import time
import urllib.parse
from collections import Counter
from pathlib import Path
from typing import Any

SCRIPT = """
local asked, words = {}, {}
local at, begun, count = 0, 0, 0
function setup(thread) thread:set("begun", begun); begun = begun + 1 end
function init()
  for line in io.lines("PATHS") do asked[#asked + 1] = wrk.format("GET", line) end
  if NEW > 0 then for line in io.lines("WORDS") do words[#words + 1] = line end end
  at = begun * math.floor(#asked / 2)
  math.randomseed(11)
end
function request()
  if NEW > 0 and math.random() < NEW then
    count = count + 1
    local pair = words[math.random(#words)] .. "+" .. words[math.random(#words)]
    return wrk.format("GET", "/search?q=" .. pair .. "&n=" .. count .. (count % 2 == 1 and "&format=json" or ""))
  end
  at = at % #asked + 1
  return asked[at]
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("FIGURES %d %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), e.status, e.connect + e.read + e.write + e.timeout))
end
"""


class Pairs:
    """Queries that nobody has asked: two words of the log, and a number that makes each the first of its kind."""

    def __init__(self, asked: list[str], share: float) -> None:
        self.share = share
        self._words = sorted({word for query in asked for word in query.split()})
        self._chance = random.Random(9)
        self._count = 0

    def draw(self) -> str | None:
        """Return a path with a new query, or None where a query of the log is due."""
        if self._chance.random() >= self.share:
            return None
        self._count += 1
        pair = "+".join(urllib.parse.quote(word) for word in self._chance.sample(self._words, 2))
        return f"/search?q={pair}&n=own{self._count}" + ("&format=json" if self._count % 2 else "")


def words_of(asked: list[str], work: Path) -> Path:
    """Write the words of all queries, one a line, as they stand in a path."""
    words = sorted({urllib.parse.quote(word) for query in asked for word in query.split()})
    path = work / "words.txt"
    path.write_text("\n".join(words))
    return path


def lua(paths: Path, work: Path, new: float = 0.0, words: Path | None = None) -> Path:
    """Write the script that tells wrk what to ask for: paths, and for a share of requests pairs of words."""
    script = work / f"{paths.stem}{'-new' if words else ''}.lua"
    told = SCRIPT.replace("PATHS", str(paths)).replace("WORDS", str(words)).replace("NEW", f"{new:g}")
    script.write_text(told)
    return script


def wrk(url: str, script: Path, connections: int, seconds: int) -> dict[str, Any]:
    """Run wrk; responses other than 200 count as refused."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script), url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"FIGURES (\d+) (\d+) (\d+) (\d+) (\d+) (\d+)", said)
    assert found, said
    requests, duration, p50, p99, statuses, errors = (int(part) for part in found.groups())
    return {
        "requests": requests,
        "seconds": duration / 1e6,
        "p50_ms": round(p50 / 1000, 2),
        "p99_ms": round(p99 / 1000, 2),
        "refused": statuses,
        "failed": errors,
    }


async def ours(
    url: str, paths: list[str], connections: int, seconds: int, pairs: Pairs | None = None
) -> dict[str, Any]:
    """Ask from a client of our own; give what came back, and how long it took."""
    where = urllib.parse.urlsplit(url)
    times: dict[int, list[float]] = {}
    new: list[float] = []
    known: list[float] = []
    failed = Counter[str]()
    ends = time.perf_counter() + seconds

    async def one(number: int) -> None:
        at = number
        while time.perf_counter() < ends:
            try:
                reader, writer = await asyncio.open_connection(where.hostname, where.port)
            except OSError as error:
                failed[type(error).__name__] += 1
                await asyncio.sleep(0.1)
                continue
            try:
                while time.perf_counter() < ends:
                    at = (at + connections) % len(paths)
                    drawn = pairs.draw() if pairs else None
                    began = time.perf_counter()
                    writer.write(f"GET {drawn or paths[at]} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
                    size = re.search(rb"content-length: (\d+)", head)
                    await asyncio.wait_for(reader.readexactly(int(size[1]) if size else 0), 30)
                    status = int(head[9:12])
                    taken = time.perf_counter() - began
                    times.setdefault(status, []).append(taken)
                    if status == 200:
                        (new if drawn else known).append(taken)
                    if status in (429, 503):
                        await asyncio.sleep(0.2)  # less patient than Retry-After asks for, as crowds are
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                failed[type(error).__name__] += 1
            finally:
                writer.close()

    await asyncio.gather(*(one(n) for n in range(connections)))
    good = sorted(times.get(200, [0.0]))
    refused = sum(len(times.get(status, ())) for status in (429, 503))
    other = sum(len(found) for status, found in times.items() if status not in (200, 429, 503))
    figures = {
        "client": "own",
        "rate": round(len(good) / seconds, 1),
        "p50_ms": percentile(good, 0.5),
        "p99_ms": percentile(good, 0.99),
        "errors": refused + other + sum(failed.values()),
    }
    apart = {"new": sorted(new), "known": sorted(known)}
    ended = {"refused": refused, "failed": other + sum(failed.values()), "accepted": len(good)}
    return {"load": figures, "apart": apart, **ended}


def percentile(times: list[float], part: float) -> float:
    """Return a quantile of the sorted `times`, in milliseconds."""
    return round(1000 * times[int(part * (len(times) - 1))], 2) if times else 0.0
