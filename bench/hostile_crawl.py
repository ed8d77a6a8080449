"""A crawl of a hostile web beside other work: bombs in every format, traps, broken and lying hosts, and good pages."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "crawl"))

from bomb_web import GOOD_HOST, BombWeb

PROGRAM = str(Path(sys.executable).parent / "periplus")


@contextlib.contextmanager
def hostile_web(folder: Path, work: Path) -> Iterator[Any]:
    """Crawl a hostile web in the same data folder; yields a function that returns how the crawl stands."""
    hosts = work / "fakeweb.hosts"
    web = subprocess.Popen(
        [PROGRAM, "web", "--hosts", "20", "--pages", "2000", "--trouble", "slow,broken,trap,lying,farm",
         "--write-hosts", str(hosts)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "2000"},
    )  # fmt: skip
    seeds: list[str] = []
    for line in web.stdout or ():
        if "periplus crawl " in line:
            words = line.split()
            seeds = [word for word in words if word.startswith("http")]
            break
    bombs = BombWeb()
    with hosts.open("a") as file:
        file.writelines(f"127.0.0.1:{bombs.web.port} {host}\n" for host in bombs.hosts)
    seeds.append(f"http://{GOOD_HOST}/")
    crawl = subprocess.Popen(
        [PROGRAM, "crawl", *seeds, "--folder", str(folder), "--scope", "web", "--delay", "0.5",
         "--allow", "127.0.0.0/8", "--hosts-file", str(hosts)],
        stdout=subprocess.DEVNULL, stderr=(work / "crawl.log").open("wb"),
    )  # fmt: skip

    def status() -> dict[str, Any]:
        output = subprocess.run(
            [PROGRAM, "crawl", "--status", "--json", "--folder", str(folder)], capture_output=True, text=True
        )
        met = sum(url in requested for url in bombs.bombs) if (requested := set(bombs.web.requests)) else 0
        return {"running": crawl.poll() is None, "bombs_met": met, "status": output.stdout.strip()[-400:]}

    try:
        yield status
    finally:
        for process in (crawl, web):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        bombs.close()
