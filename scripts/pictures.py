"""Make docs/pictures from `periplus demo`: its crawl view in a terminal, and pages of all kinds in Chromium.

The crawl makes thumbnails, which it does not by default, so that the media tab and the card have pictures.
The demo runs in a pseudo-terminal, so that the live view is the one that people see. Its seed fixes the web; rates and
times differ from run to run.
"""

import contextlib
import fcntl
import html
import io
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"
MAX_BYTES: Final = 60_000
COLUMNS, ROWS = 96, 30
QUERY: Final = "lighthouse keeper fog signal"
DEMO_SECONDS: Final = 300.0
SHARE_OF_FRAMES: Final = 0.7
"""Which frame of the live view is shown: one in which most of the crawl is done."""
COLOURS: Final = (64, 32, 16)
WORDS: Final = QUERY.replace(" ", "+")
THUMBNAILS: Final = 8_000
DESK, PHONE = (1280, 800), (390, 844)
PAGES: Final = {
    "landing": "",
    "results": f"search?q={WORDS}",
    "card": "search?q=headland+watch",
    "media": f"search?q={WORDS}&tab=media",
    "news": f"search?q={WORDS}&tab=news",
    "no-results": "search?q=zzyzxqv",
    "corrected": "search?q=lighthose+keeper",
    "why": f"search?q={WORDS}&explain=2",
    "rules": "rules",
    "settings": "settings",
}
"""Pages that need nothing but their address."""
WINDOW: Final = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; display: inline-block; background: #10161C; }
.bar { background: #26313A; height: 30px; display: flex; gap: 8px; align-items: center; padding: 0 12px; }
.bar i { width: 12px; height: 12px; border-radius: 50%%; background: #5B6670; }
pre { margin: 0; padding: 14px 18px 18px; color: #E6E9EC; min-width: %(columns)dch;
  font: 14px/20px "DejaVu Sans Mono", ui-monospace, monospace; }
b { color: #5CC4D3; font-weight: normal; }
</style><div class="bar"><i></i><i></i><i></i></div><pre><b>$</b> make demo
%(text)s</pre>"""

_REDRAW = re.compile(r"(?:\r|\x1b\[\d*A|\x1b\[2K)+")
_CONTROL = re.compile(r"\x1b\[\?\d+[hl]|\x1b\[\d*[ABCDGJK]|\r")


def main() -> int:
    """Make all pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.stderr.write("Pictures need chromium: apt install chromium\n")
        return 1
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, demo(Path(folder)) as output, browser(chromium) as tab:
        data = Path(folder) / "demo"
        with server(data) as address:
            take_pages(tab, address, data)
        if len(live_frames(output)) < 2:
            sys.stderr.write("The crawl was over before its view was drawn: crawl.png stays as it is.\n")
            return 0
        tab.set_viewport_size({"width": DESK[0], "height": DESK[1]})
        tab.goto("about:blank")  # the policy of the pages forbids styles such as these
        tab.set_content(WINDOW % {"columns": COLUMNS, "text": terminal_html(output)})
        save(tab.locator("body").screenshot(), PICTURES / "crawl.png")
    return 0


def take_pages(tab: Any, address: str, folder: Path) -> None:
    """Save screenshots of all pages: public ones, those that need a key, and one as phones show it."""
    from periplus.serve import ApiKeys

    secret = ApiKeys(folder).add("operator", "admin")
    for name, path in PAGES.items():
        take(tab, address + path, name)
    tab.goto(f"{address}search?q={WORDS}")
    tab.goto(address.rstrip("/") + tab.locator('a[href^="/cached/"]').first.get_attribute("href"))
    take(tab, tab.url, "cached")
    for path in ("publish", "admin"):
        wait_for_key(tab, address + path, secret)
        take(tab, address + path, path)
    tab.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
    take(tab, f"{address}search?q={WORDS}", "phone")


def wait_for_key(tab: Any, url: str, secret: str) -> None:
    """Log in; the server reads new keys within a second or two."""
    ends = time.monotonic() + DEMO_SECONDS
    while time.monotonic() < ends:
        tab.goto(url)
        tab.fill("#key", secret)
        tab.press("#key", "Enter")
        tab.wait_for_load_state()
        if not tab.locator("#key").count():
            return
    raise SystemExit(f"Nobody could log in at {url}.")


def take(tab: Any, url: str, name: str) -> None:
    """Save a screenshot of one page."""
    tab.goto(url)
    tab.wait_for_timeout(3_000 if name == "admin" else 300)
    save(tab.screenshot(), PICTURES / f"{name}.png")


@contextlib.contextmanager
def demo(folder: Path) -> Iterator[str]:
    """Run the demo in a pseudo-terminal; yield what it wrote until it served."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    port = free_port()
    command = [Path(sys.executable).parent / "periplus", "demo", "--folder", folder, "--port", str(port)]
    command += ["--set", f"crawl.thumbnails={THUMBNAILS}"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    process = subprocess.Popen(
        [*map(str, command)], stdout=theirs, stderr=theirs, stdin=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        address = f"http://127.0.0.1:{port}/"
        yield read_until_served(process, ours, address)
    finally:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(OSError):  # a pseudo-terminal whose other end is closed reads as an error
            while os.read(ours, 65_536):
                pass
        process.wait()
        os.close(ours)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[str]:
    """Serve the pages of the demo with all that a server offers: rules, publishing, the admin page."""
    address = f"http://127.0.0.1:{(port := free_port())}/"
    command = [str(Path(sys.executable).parent / "periplus"), "serve", "--folder", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ends = time.monotonic() + DEMO_SECONDS
        while not answers(address):
            if process.poll() is not None or time.monotonic() > ends:
                raise SystemExit("The server of the pages does not answer.")
            time.sleep(0.2)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def read_until_served(process: "subprocess.Popen[bytes]", terminal: int, address: str) -> str:
    """Return all that the demo writes until its search page answers."""
    pieces, ends = [], time.monotonic() + DEMO_SECONDS
    while process.poll() is None and time.monotonic() < ends:
        if select.select([terminal], [], [], 0.2)[0]:
            pieces.append(os.read(terminal, 65_536))
        elif answers(address):
            return b"".join(pieces).decode("utf-8", "replace")
    raise SystemExit(f"The demo did not come to serve: {b''.join(pieces)[-2000:]!r}")


def answers(address: str) -> bool:
    """Return whether the server of the demo is ready."""
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}readyz", timeout=2) as response:
        return bool(response.status == 200)
    return False


@contextlib.contextmanager
def browser(chromium: str) -> Iterator[Any]:
    """Open a tab with light colours."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        program = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--force-color-profile=srgb"])
        yield program.new_page(viewport={"width": DESK[0], "height": DESK[1]}, color_scheme="light")
        program.close()


def terminal_html(output: str) -> str:
    """Return what a terminal shows during the crawl, as HTML: the lines before the live view, then one frame of it."""
    from rich.console import Console
    from rich.text import Text

    frames = live_frames(output)
    before, frame = frames[0], frames[1:][int((len(frames) - 2) * SHARE_OF_FRAMES)]
    shown = Text.from_ansi("\n".join(line for line in (*before.splitlines(), "", *frame.splitlines())))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(shown, soft_wrap=True)
    return console.export_html(code_format="{code}", inline_styles=True) or html.escape(shown.plain)


def live_frames(output: str) -> list[str]:
    """Split what a live view wrote into the lines before it and its frames, each as it stood on the screen."""
    head, _, drawn = output.replace("\r\n", "\n").partition("\x1b[?25l")
    frames = [_CONTROL.sub("", piece).strip("\n") for piece in _REDRAW.split(drawn.partition("\x1b[?25h")[0])]
    full = [frame for frame in frames if frame.count("\n") >= 2]
    return [_CONTROL.sub("", head).strip("\n"), *full]


def save(png: bytes, path: Path) -> None:
    """Write a picture with as many colours as its size allows; raise `SystemExit` if even few are too many."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colours in COLOURS:
        packed = io.BytesIO()
        picture.quantize(colours, dither=Image.Dither.NONE).save(packed, "PNG", optimize=True)
        if packed.tell() < MAX_BYTES:
            path.write_bytes(packed.getvalue())
            sys.stdout.write(f"{path.relative_to(ROOT)}: {packed.tell():,} bytes, {colours} colours\n")
            return
    raise SystemExit(f"{path.name} is over {MAX_BYTES:,} bytes.")


if __name__ == "__main__":
    sys.exit(main())
