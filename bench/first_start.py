"""The first start after an installation: from a wheel to the first result, step by step.

    python bench/first_start.py [--wheel FILE] [--pages N] [--try]

A new virtual environment gets the wheel; its dependencies are those of the environment that runs this, so that nothing
is downloaded. A generated web is served on loopback, and `periplus up` is run from an empty folder with an empty cache
until a search finds a page. That is done with a wheel without compiled kernels, which is built here, and with the wheel
of `make wheel`, if there is one in dist/ or it is given.
"""

import argparse
import json
import os
import re
import resource
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from record import save

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 1_800.0
"""A first start that takes longer has failed."""
QUESTION = "the"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="the wheel with compiled kernels; the newest one in dist/")
    parser.add_argument("--pages", type=int, default=200, help="articles of the generated web")
    parser.add_argument("--only", choices=("compiled", "precompiled"))
    parser.add_argument("--try", action="store_true", dest="trying", help="print the figures, but keep none")
    options = parser.parse_args()
    given = options.wheel or max((ROOT / "dist").glob("*-linux_*.whl"), key=os.path.getmtime, default=None)
    figures = {}
    with tempfile.TemporaryDirectory() as name:
        if options.only != "precompiled":
            figures["compiled at the first start"] = measure(build(Path(name)), Path(name) / "plain", options.pages)
        if given is not None and options.only != "compiled":
            figures["precompiled wheel"] = measure(given, Path(name) / "platform", options.pages)
    print(json.dumps(figures, indent=1))
    if not options.trying:
        print(save("first_start", figures))


def build(folder: Path) -> Path:
    """Return a wheel without compiled kernels."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return next((folder / "dist").glob("*.whl"))


def measure(wheel: Path, folder: Path, pages: int) -> dict[str, Any]:
    """Return the seconds of each step, from the wheel to the first result."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    made = time.monotonic()
    install = [folder / "bin" / "python", "-m", "pip", "-q", "install", "--no-deps", "--no-index", wheel.resolve()]
    subprocess.run(list(map(str, install)), check=True)
    installed = time.monotonic()
    with subprocess.Popen(
        [str(folder / "bin" / "periplus"), "web", "--hosts", "5", "--pages", str(pages), "--write-hosts", "hosts"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    ) as web:
        seed = _seed(web)
        try:
            answered = _first_result(folder, seed)
        finally:
            web.terminate()  # SIGINT is ignored by what a shell starts in the background
    return {
        "wheel_megabytes": round(wheel.stat().st_size / 1e6, 1),
        "virtual_environment_s": round(made - started, 1),
        "install_s": round(installed - made, 1),
        **answered,
        "load": round(os.getloadavg()[0], 1),
    }


def _seed(web: "subprocess.Popen[str]") -> str:
    """Return a URL of the generated web, when it is served."""
    assert web.stdout is not None
    for line in web.stdout:
        found = re.search(r"periplus crawl (\S+)", line)
        if found:
            return found[1]
    raise SystemExit("The generated web did not start.")


def _first_result(folder: Path, seed: str) -> dict[str, Any]:
    """Run `periplus up` until a search finds a page; return how long its steps took."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--port", str(port), "--scope", "web", "--delay", "0", "--allow", "127.0.0.0/8", "--hosts-file", "hosts"]
    environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    started, before = time.monotonic(), _core_seconds()
    steps: dict[str, Any] = {}
    with subprocess.Popen(
        [str(folder / "bin" / "periplus"), "up", seed, *options], cwd=folder, env=environment
    ) as process:
        try:
            while "first_result_s" not in steps:
                if process.poll() is not None or time.monotonic() - started > SECONDS:
                    raise SystemExit("periplus up ended without a result.")
                found = _ask(port)
                if found is not None:
                    steps.setdefault("first_answer_s", round(time.monotonic() - started, 1))
                if found:
                    steps["first_result_s"] = round(time.monotonic() - started, 1)
                time.sleep(0.1)
        finally:
            process.terminate()
    return steps | {"core_seconds": round(_core_seconds() - before, 1)}


def _ask(port: int) -> int | None:
    """Return how many results a search has; None if the server does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/search?q={QUESTION}&format=json", timeout=10) as answer:
            return len(json.load(answer)["results"])
    except (OSError, ValueError, KeyError):
        return None


def _core_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
