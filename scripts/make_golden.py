"""Write the golden files of every format whose bytes have changed: the next edition of tests/golden/NAME-vN.

Run it after a format number was raised. Editions that exist are never written again: that the old files still open is
what the tests are for. `tests/formats` has a function for each format that writes a fixed input.
"""

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from formats.golden_files import (  # noqa: E402
    EXPECTED,
    GOLDEN,
    GoldenFormat,
    editions,
    files_of,
    fixed_world,
    layout,
    put_away,
    take_out,
)
from formats.golden_formats import FORMATS  # noqa: E402


def is_current(made: Path, scratch: Path, name: str) -> bool:
    """Return whether the newest edition has what the code writes today."""
    every = editions(name)
    if not every:
        return False
    newest, today = files_of(take_out(every[-1], scratch / "newest")), files_of(made)
    return newest.keys() == today.keys() and all(layout(today[file]) == layout(newest[file]) for file in today)


def make(kind: GoldenFormat) -> None:
    """Write the next edition of one format, unless the newest one is current."""
    with tempfile.TemporaryDirectory() as place:
        made = Path(place) / "made"
        made.mkdir()
        with fixed_world():
            kind.write(made)
        if is_current(made, Path(place), kind.name):
            return
        folder = GOLDEN / f"{kind.name}-v{len(editions(kind.name)) + 1}"
        put_away(made, folder)
        with fixed_world():
            content = kind.read(take_out(folder, Path(place) / "copy"))
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True)
    (folder / EXPECTED).write_text(text + "\n", "utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    sys.stdout.write(f"{folder.relative_to(ROOT)}: {size:,} bytes\n")


def main() -> None:
    """Write what is missing; of the formats named on the command line, or of all."""
    for name in sys.argv[1:] or FORMATS:
        make(FORMATS[name])


if __name__ == "__main__":
    main()
