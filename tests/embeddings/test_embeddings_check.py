"""Vectors that a disk has changed are found, removed and made again; searching never trusts them."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tiny_model import NaiveEncoder

from index.made_pages import random_visits
from periplus.arrays import ArrayFile, write_arrays
from periplus.embeddings import EmbeddingSearcher, check_vectors, embed_index, remove_damaged_vectors, vector_coverage
from periplus.embeddings.embedding_log import EmbeddingLog
from periplus.embeddings.vector_file import PassageVectors, open_vectors
from periplus.files import lock_folder
from periplus.index import Index, build_index
from periplus.settings import EmbeddingSettings, IndexSettings

SETTINGS = EmbeddingSettings(enabled=True, passage_tokens=16, overlap=4)


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("check") / "index"
    build_index(iter(random_visits(4, 30)), folder, IndexSettings())
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    return folder


@pytest.fixture
def victim(embedded: Path) -> Path:
    """Yield the vector file, and restore it after the test."""
    path = next((embedded / "meaning").glob("seg-*.arrays"))
    raw = path.read_bytes()
    yield path
    path.write_bytes(raw)


def parts(path: Path) -> tuple[dict[str, np.ndarray], dict[str, object]]:
    file = ArrayFile(path, "vectors")
    names = ("vectors", "scales", "owners", "start", "rows", "centres", "list_start", "prints")
    return {name: np.array(file[name]) for name in names}, dict(file.notes)


def test_sound_vectors_have_no_fault_and_are_left_alone(embedded: Path, victim: Path) -> None:
    before = victim.read_bytes()
    assert check_vectors(embedded) == []
    assert remove_damaged_vectors(embedded) == []
    assert victim.read_bytes() == before


def test_a_changed_bit_is_found_or_harmless_wherever_it_is(embedded: Path, victim: Path) -> None:
    raw = victim.read_bytes()
    whole = {name: array.tobytes() for name, array in parts(victim)[0].items()}
    chance = np.random.default_rng(5)
    found = 0
    for place in [*range(0, 64, 3), *chance.integers(0, len(raw), 120).tolist()]:
        changed = bytearray(raw)
        changed[place] ^= 1 << int(chance.integers(0, 8))
        victim.write_bytes(changed)
        if check_vectors(embedded):
            found += 1
            assert open_vectors(victim) is None, "no search may use it"
        else:  # Only what fills the gaps between arrays may change unseen.
            assert {name: array.tobytes() for name, array in parts(victim)[0].items()} == whole
    assert found > 120


@pytest.mark.parametrize("length", [0, 7, 100, 5_000, -1])
def test_a_file_that_is_cut_off_is_found(embedded: Path, victim: Path, length: int) -> None:
    victim.write_bytes(victim.read_bytes()[:length] if length >= 0 else victim.read_bytes()[:-100])
    assert len(check_vectors(embedded)) == 1


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("rows", lambda rows: rows[::-1].copy(), "rows and owners agree"),
        ("rows", lambda rows: np.zeros_like(rows), "every row has one owner"),
        ("owners", lambda owners: np.roll(owners, 1), "rows and owners agree"),
        ("owners", lambda owners: owners + 1_000, "offsets outside of its arrays"),
        ("prints", lambda prints: np.roll(prints, 1), "made from the present text"),
        ("prints", lambda prints: prints * 0, "have a fingerprint"),
        ("scales", lambda scales: scales * np.float32(np.nan), "length 1"),
        ("scales", lambda scales: scales * 3, "length 1"),
        ("centres", lambda centres: centres + np.float32(np.inf), "centres"),
        ("list_start", lambda start: start - 1, "offsets outside of its arrays"),
        ("start", lambda start: start[:-1].copy(), "offsets outside of its arrays"),
    ],
)
def test_numbers_that_make_no_sense_are_found(embedded: Path, victim: Path, name: str, change, said: str) -> None:
    arrays, notes = parts(victim)
    arrays[name] = change(arrays[name])
    write_arrays(victim, "vectors", arrays, notes)
    assert said in "".join(check_vectors(embedded))


@pytest.mark.parametrize(("note", "value"), [("segment", "of another"), ("recipe", "made-0"), ("recipe", "a/x/y/z")])
def test_vectors_of_something_else_are_found(embedded: Path, victim: Path, note: str, value: str) -> None:
    arrays, notes = parts(victim)
    write_arrays(victim, "vectors", arrays, notes | {note: value})
    assert "broken" in "".join(check_vectors(embedded))


def test_what_was_damaged_is_removed_and_made_again(embedded: Path, victim: Path) -> None:
    before = victim.read_bytes()
    changed = bytearray(before)
    changed[before.index(parts(victim)[0]["vectors"].tobytes()) + 5] ^= 0x10
    victim.write_bytes(changed)
    searcher = EmbeddingSearcher(Index.open(embedded), SETTINGS, NaiveEncoder())
    assert searcher.encode_query("sea") is None, "words alone rank meanwhile"
    assert len(remove_damaged_vectors(embedded)) == 1
    assert not victim.exists()
    assert check_vectors(embedded) == []
    made = embed_index(embedded, SETTINGS, encoder=NaiveEncoder())
    assert made.documents == vector_coverage(Index.open(embedded)).covered == 30
    assert victim.read_bytes() == before


def test_vectors_of_another_recipe_are_sound_too(tmp_path: Path) -> None:
    build_index(iter(random_visits(4, 5)), tmp_path / "index", IndexSettings())
    whole = msgspec.structs.replace(SETTINGS, early_exit=True)
    embed_index(tmp_path / "index", whole, encoder=NaiveEncoder())
    assert check_vectors(tmp_path / "index") == []
    assert embed_index(tmp_path / "index", SETTINGS, encoder=NaiveEncoder()).documents == 5
    assert embed_index(tmp_path / "index", SETTINGS, encoder=NaiveEncoder()).reused == 5


def test_vectors_that_a_segment_left_behind_are_verified_too(embedded: Path, victim: Path) -> None:
    left = victim.with_name("seg-999999-0000.arrays")
    left.write_bytes(victim.read_bytes())
    assert check_vectors(embedded) == []
    left.write_bytes(victim.read_bytes()[:-64])
    assert "seg-999999" in "".join(remove_damaged_vectors(embedded))
    assert not left.exists()
    assert victim.exists()


def test_a_damaged_log_is_written_anew_with_what_is_whole(tmp_path: Path) -> None:
    path, ends = tmp_path / "index" / "meaning" / "embedded.log", []
    chance = np.random.default_rng(3)
    with EmbeddingLog(path, "recipe", 8) as log:
        for number in range(1, 6):
            log.append(
                [number], [PassageVectors(chance.integers(-9, 9, (2, 8)).astype(np.int8), np.ones(2, np.float32))]
            )
            ends.append(path.stat().st_size)
    whole = path.read_bytes()
    assert check_vectors(tmp_path / "index") == []
    path.write_bytes(whole[:-5])
    assert "damaged blocks: 1" in check_vectors(tmp_path / "index")[0]
    with EmbeddingLog(path, "recipe", 8) as log:
        assert 5 not in log, "its pages are embedded again"
    changed = bytearray(whole)
    changed[ends[1] - 3] ^= 0x40
    path.write_bytes(changed)
    assert "damaged blocks: 1" in check_vectors(tmp_path / "index")[0]
    assert len(remove_damaged_vectors(tmp_path / "index")) == 1
    assert path.read_bytes() == whole[: ends[0]] + whole[ends[1] :]
    with EmbeddingLog(path, "recipe", 8) as log:
        assert [number for number in range(1, 6) if number in log] == [1, 3, 4, 5]
    path.write_bytes(b"\xff" * 50)
    assert "damaged header" in remove_damaged_vectors(tmp_path / "index")[0]
    assert not path.exists()


def test_the_commands_find_and_repair_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from periplus.cli import main

    monkeypatch.chdir(tmp_path)
    pages = [{"url": f"http://a.example/{n}", "title": f"Page {n}", "text": f"harbour lights {n}"} for n in range(12)]
    Path("pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    assert main(["import", "pages.jsonl"]) == 0
    folder = Path("periplus-data/index")
    embed_index(folder, SETTINGS, encoder=NaiveEncoder())
    assert main(["index", "check"]) == 0
    path = next((folder / "meaning").glob("seg-*.arrays"))
    path.write_bytes(path.read_bytes()[:-64])
    assert main(["index", "check"]) == 1
    assert path.name in capsys.readouterr().err
    with lock_folder(folder / "meaning", "embed"):
        assert main(["index", "repair"]) == 1, "not while somebody embeds"
        assert path.exists()
    capsys.readouterr()
    assert main(["index", "repair", "--json"]) == 0
    assert path.name in "".join(json.loads(capsys.readouterr().out)["faults"])
    assert not path.exists()
    assert main(["index", "check"]) == 0
