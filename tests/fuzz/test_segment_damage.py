"""Damaged segments, with right and wrong fingerprints: refused or answered, never a signal, a hang or a traceback."""

import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import damage_sample
import segment_damage
from periplus.errors import CorruptFile
from periplus.index import Index


class Sample:
    """A data folder, and copies of its files that are damaged one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.scratch = folder / "data", folder / "scratch"
        self.folder.mkdir()
        # Large enough for terms that are blocked without a bitset.
        damage_sample.make_sample(self.folder)
        assert not damage_sample.use_everything(self.folder, self.scratch)

    def outcome(self, path: str, damaged: bytes) -> str:
        """Return what becomes of a data folder with one damaged file."""
        whole = (self.folder / path).read_bytes()
        segment_damage.replace(self.folder / path, damaged)
        try:
            return segment_damage.run_case(self.folder, self.scratch, Path(path).parts[0])
        finally:
            segment_damage.replace(self.folder / path, whole)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    folder = tmp_path_factory.mktemp("damage")
    yield Sample(folder)
    shutil.rmtree(folder, ignore_errors=True)


def set_word(sample: Sample, path: str, array: str, number: int, value: int, *, reseal: bool) -> bytes:
    """Return a file with one element of an array replaced."""
    image = segment_damage.ArrayImage((sample.folder / path).read_bytes())
    entry = next(entry for entry in image.header["arrays"] if entry["name"] == array)
    begin, end = image.span(entry)
    width = int(entry["dtype"][2:])
    at = begin + number * width if number >= 0 else end + number * width
    image.body[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    return image.encode(reseal=reseal)


INDEX = "index/seg-000001-0000"
WORDS = [
    (f"{INDEX}/documents.arrays", "title_start", 144, 1 << 31),
    (f"{INDEX}/documents.arrays", "hosts_start", 1, 1 << 31),
    (f"{INDEX}/documents.arrays", "host", 3, 0xFF),
    (f"{INDEX}/lexicon.arrays", "page_stream", -1, 1 << 50),
    (f"{INDEX}/lexicon.arrays", "page_position", -1, 1 << 50),
    (f"{INDEX}/lexicon.arrays", "page_start", 1, -1),
    (f"{INDEX}/lexicon.arrays", "terms", 0, 1 << 40),
    (f"{INDEX}/postings.arrays", "wide", 0, 1 << 40),
    (f"{INDEX}/postings.arrays", "wide", 1, 1 << 40),
    (f"{INDEX}/words.arrays", "complete_order", 5, -1),
    (f"{INDEX}/words.arrays", "complete_source", 5, (1 << 31) - 1),
    (f"{INDEX}/text.arrays", "start", 1, -1),
    (f"{INDEX}/extras.arrays", "news", 0, 1 << 31),
    ("large/seg-000001-0000/postings.arrays", "skip_block", 0, 0xFF),
    ("large/seg-000001-0000/postings.arrays", "skip_postings", 0, 0x7F),
    ("graph/graph.arrays", "anchor_first", 9, 1 << 32),
    ("graph/backlinks.arrays", "block_bytes", 0, -1),
]


@pytest.mark.parametrize("reseal", [True, False], ids=["resealed", "unsealed"])
@pytest.mark.parametrize(("path", "array", "number", "value"), WORDS, ids=[f"{row[0]}:{row[1]}" for row in WORDS])
def test_an_extreme_word_is_refused(
    sample: Sample, path: str, array: str, number: int, value: int, reseal: bool
) -> None:
    assert sample.outcome(path, set_word(sample, path, array, number, value, reseal=reseal)) == "refused"


@pytest.mark.parametrize("reseal", [True, False], ids=["resealed", "unsealed"])
@pytest.mark.parametrize(("part", "array"), [("lexicon", "pages"), ("postings", "stream"), ("postings", "positions")])
def test_noise_in_packed_bytes_is_refused_or_answered(sample: Sample, part: str, array: str, reseal: bool) -> None:
    for folder in ("index", "large"):
        path = f"{folder}/seg-000001-0000/{part}.arrays"
        for seed in range(3):
            chance = random.Random(seed)
            image = segment_damage.ArrayImage((sample.folder / path).read_bytes())
            begin, end = image.span(next(entry for entry in image.header["arrays"] if entry["name"] == array))
            for _ in range(20):
                image.body[chance.randrange(begin, end)] = chance.choice((0, 15, 128, 192, 255))
            assert sample.outcome(path, image.encode(reseal=reseal)) in ("refused", "answered")


def test_random_damage_of_any_array(sample: Sample) -> None:
    chance = random.Random(14)
    files = [path for path in segment_damage.array_files(sample.folder) if path.parts[0] != "as-index"]
    for number in range(10):
        path = str(chance.choice(files))
        whole = (sample.folder / path).read_bytes()
        entry = chance.choice(segment_damage.ArrayImage(whole).header["arrays"])
        damaged, how = segment_damage.damage(whole, entry["name"], chance, reseal=number % 3 > 0)
        assert sample.outcome(path, damaged) in ("refused", "answered"), (path, entry["name"], how)


def test_the_error_names_the_file_and_the_array(sample: Sample) -> None:
    path = f"{INDEX}/documents.arrays"
    whole = (sample.folder / path).read_bytes()
    segment_damage.replace(sample.folder / path, set_word(sample, path, "url_start", 3, -5, reseal=True))
    try:
        with pytest.raises(CorruptFile, match=r"documents\.arrays is damaged in 'url_start'.*periplus index check"):
            Index.open(sample.folder / "index", verify=False)
    finally:
        segment_damage.replace(sample.folder / path, whole)


def test_a_file_that_shrinks_is_noticed_when_it_is_opened(sample: Sample) -> None:
    path = f"{INDEX}/postings.arrays"
    assert sample.outcome(path, (sample.folder / path).read_bytes()[:-4096]) == "refused"


def test_the_error_of_skip_entries_names_a_column_of_them(sample: Sample) -> None:
    path = "large/seg-000001-0000/postings.arrays"
    whole = (sample.folder / path).read_bytes()
    segment_damage.replace(sample.folder / path, set_word(sample, path, "skip_block", 0, 0xFF, reseal=True))
    try:
        with pytest.raises(CorruptFile, match=r"postings\.arrays is damaged in 'skip_block'"):
            Index.open(sample.folder / "large", verify=False)
    finally:
        segment_damage.replace(sample.folder / path, whole)
