"""Seeds of a command line: URLs, lists in files and standard input, and what is wrong with them."""

import gzip
import io
from pathlib import Path

import pytest

from periplus.app import read_seeds
from periplus.errors import BadFile, BadInput


def test_urls_files_and_standard_input(tmp_path: Path) -> None:
    plain, packed = tmp_path / "seeds.txt", tmp_path / "more.gz"
    plain.write_text("\ufeff# ours\nhttp://a.test/\n\n  http://b.test/x#part   a remark\r\nc.test\nhttp://a.test/\n")
    packed.write_bytes(gzip.compress(b"http://d.test/\nhttp://a.test/"))
    arguments = ["http://z.test/", f"@{plain}", "-", f"@{packed}"]
    assert read_seeds(arguments, io.BytesIO(b"http://e.test/\n")) == [
        "http://z.test/",
        "http://a.test/",
        "http://b.test/x#part",
        "http://c.test/",
        "http://e.test/",
        "http://d.test/",
    ]
    assert read_seeds([]) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty"),
        (b"# nothing\n\n", "empty"),
        (b"http://a.test/\n\xff\xfe\x00\n", "line 2 is not UTF-8"),
        (b"http://a.test/" + b"x" * 9_000, "line 1: the URL is longer"),
    ],
)
def test_a_list_that_cannot_be_used(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "seeds.txt"
    file.write_bytes(content)
    with pytest.raises((BadFile, BadInput), match=says):
        read_seeds([f"@{file}"])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        read_seeds([f"@{tmp_path / 'none'}"])
    with pytest.raises(BadInput, match="name of a file"):
        read_seeds(["@"])
