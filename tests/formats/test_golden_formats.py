"""Files of every format, written by earlier versions: they open, and today's bytes differ only with another number."""

import json
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from formats.golden_files import (
    EXPECTED,
    GOLDEN,
    GoldenFormat,
    editions,
    files_of,
    fixed_world,
    format_number,
    layout,
    raise_number,
    take_out,
)
from formats.golden_formats import FORMATS
from periplus.errors import PeriplusError

EDITIONS = [(name, path) for name in FORMATS for path in editions(name)]
by_edition = pytest.mark.parametrize(("name", "folder"), EDITIONS, ids=lambda value: getattr(value, "name", ""))
by_format = pytest.mark.parametrize("name", FORMATS)


def test_every_golden_folder_is_tested_and_small() -> None:
    known = {path.name for _, path in EDITIONS} | {path.name for path in GOLDEN.glob("index-v*")}
    assert {path.name for path in GOLDEN.iterdir()} == known
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 1_500_000


@by_format
def test_there_is_a_golden_file_of_every_edition(name: str) -> None:
    assert [path.name for path in editions(name)] == [f"{name}-v{n + 1}" for n in range(len(editions(name)))]
    assert editions(name), f"Run scripts/make_golden.py: there is none of {name}."


@by_edition
def test_it_opens_and_has_the_content_that_was_written(name: str, folder: Path, tmp_path: Path) -> None:
    copy = take_out(folder, tmp_path / "golden")
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    with fixed_world():
        assert json.loads(json.dumps(FORMATS[name].read(copy))) == expected


@by_format
def test_todays_bytes_are_those_of_the_newest_golden_files(name: str, tmp_path: Path) -> None:
    newest = files_of(take_out(editions(name)[-1], tmp_path / "golden"))
    (tmp_path / "now").mkdir()
    with fixed_world():
        FORMATS[name].write(tmp_path / "now")
    today = files_of(tmp_path / "now")
    assert sorted(today) == sorted(newest), f"{name} has other files: run scripts/make_golden.py for a new edition."
    for file, path in today.items():
        before, now = format_number(newest[file]), format_number(path)
        if layout(path) != layout(newest[file]):
            assert now > before, (
                f"{file} is written otherwise: raise its format number, then run scripts/make_golden.py."
            )
            pytest.fail(f"{file} has format {now}, and no golden file: run scripts/make_golden.py.")
        assert now == before


SAME_FORMAT = {
    "store-v3": ("store/kept.arrays", "store/visits*"),
    "store-shards-v2": ("*/visits*", "store/order.bin"),
    "segments-v4": ("index/*",),
    "embeddings-v5": ("index/*",),
    "export-v3": ("terms*",),
    "models-v4": ("models/*",),
    "graph-v4": ("graph/graph.arrays",),
    "word-pairs-v2": ("index/*/text.arrays",),
    "crawl-v4": ("crawl/seeds.txt", "crawl/control", "crawl/shard-01/seeds.txt", "store/visits*"),
}
"""Files whose bytes differ from those of the edition before although their format is the same: compressed frames have
checksums, which moves what follows them; one more outcome was written; text files without a number have a checksum;
weights of fields and so impacts are others, and models name more features; ranks are solved more exactly; blocks of
text are smaller."""


@by_edition
def test_bytes_of_two_editions_differ_only_with_the_number(name: str, folder: Path, tmp_path: Path) -> None:
    every = editions(name)
    if folder == every[0]:
        return
    old = files_of(take_out(every[every.index(folder) - 1], tmp_path / "old"))
    new = files_of(take_out(folder, tmp_path / "new"))
    for file in old.keys() & new.keys():
        if layout(old[file]) != layout(new[file]) and not matches(file, SAME_FORMAT.get(folder.name, ())):
            assert format_number(new[file]) > format_number(old[file]), file


def damaged(data: bytes) -> dict[str, bytes]:
    """Return a file cut off at several lengths, and with a bit flipped at several places."""
    size = len(data)
    cuts = {f"cut at {at}": data[:at] for at in {0, 1, size // 3, size // 2, size - 1} if at < size}
    flips = {}
    for at in {0, 9, size // 4, size // 2, 3 * size // 4, size - 1}:
        if at < size:
            flips[f"flipped at {at}"] = data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
    return {**cuts, **flips}


def matches(file: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(file, pattern) for pattern in patterns)


@by_format
def test_a_damaged_one_is_an_error_that_names_the_file(name: str, tmp_path: Path) -> None:
    kind, folder = FORMATS[name], editions(name)[-1]
    expected = json.loads((folder / EXPECTED).read_text("utf-8"))
    tried = 0
    for file in files_of(take_out(folder, tmp_path / "names")):
        if matches(file, kind.unread):
            continue
        for what, data in damaged((tmp_path / "names" / file).read_bytes()).items():
            tried += 1
            copy = take_out(folder, tmp_path / f"{tried}")
            (copy / file).write_bytes(data)
            content, error = contents(kind, copy)
            if error:
                # A name in JSON that is spelt otherwise is that of another file, which is not there.
                assert Path(file).name in error, f"{file} {what}: {error}"
            else:
                passed_over = matches(file, kind.tolerant)
                assert content == expected or passed_over, f"{file} {what} was not noticed"
    assert tried


def contents(kind: GoldenFormat, folder: Path) -> tuple[Any, str]:
    """Return what a folder holds, or the error that reading it raises."""
    try:
        with fixed_world():
            return json.loads(json.dumps(kind.read(folder))), ""
    except PeriplusError as error:
        return None, str(error)


@by_format
def test_one_of_a_later_version_is_refused_with_the_remedy(name: str, tmp_path: Path) -> None:
    kind, folder = FORMATS[name], editions(name)[-1]
    for file in files_of(take_out(folder, tmp_path / "names")):
        if matches(file, kind.unread + kind.unnumbered):
            continue
        copy = take_out(folder, tmp_path / file.replace("/", "-"))
        raise_number(copy / file)
        content, error = contents(kind, copy)
        if matches(file, kind.rebuilt):
            assert content == json.loads((folder / EXPECTED).read_text("utf-8"))
        else:
            assert Path(file).name in error or file == "periplus.json", file
            assert "Upgrade Periplus" in error


@by_format
def test_every_file_has_a_number(name: str, tmp_path: Path) -> None:
    kind = FORMATS[name]
    for file, path in files_of(take_out(editions(name)[-1], tmp_path / "golden")).items():
        if not matches(file, kind.unread + kind.unnumbered):
            assert format_number(path) > 0, file
