"""Blocks that many pages of a site have are boilerplate, whatever a single page takes them for."""

import random
from pathlib import Path

import numpy as np
import pytest

from index.made_pages import visit
from naive import repeated_lines as naive
from periplus.errors import CorruptFile
from periplus.index import Index, build_index, check_index
from periplus.index.builder.site_blocks import SiteBlocks, blocks_path, check_blocks
from periplus.index.document_fields import Document, Field, make_document
from periplus.index.kernels import repeated_lines as kernel
from periplus.index.live.live_index import LiveIndex
from periplus.records import FetchRecord
from periplus.settings import IndexSettings

NOTICE = "This site uses cookies to remember what you like, and shares them with nobody."
LINES = (
    *(b"", b"Home", b"  Home ", b"Examples", b"}", b"--", b"long line of some words", b"\xc3\xa9t\xc3\xa9"),
    *(b"another long line of words", b"x"),
)


def story(number: int) -> str:
    return f"Page {number} tells of lighthouse number {number}, which was built {number} years ago."


def page(number: int, host: str = "a.test", text: str = "") -> FetchRecord:
    body = text or f"Examples\n{story(number)}\n{NOTICE}"
    return visit(f"https://{host}/{number}", f"Page {number}", body, main=(0, len(body)), headings=("Examples",))


def documents_of(records: list[FetchRecord]) -> list[Document]:
    return [make_document(record, "en", "") for record in records]


@pytest.mark.parametrize("seed", range(8))
def test_lines_are_counted_and_split_as_by_the_naive_twin(seed: int) -> None:
    chance = random.Random(seed)
    texts = [b"\n".join(chance.choices(LINES, k=chance.randint(0, 6))) for _ in range(chance.choice([1, 12, 60]))]
    scopes = [[chance.randint(1, 2), chance.randint(3, 9)] for _ in texts]
    bounds = np.cumsum([0, *map(len, texts)]).astype(np.int64)
    data, hashes = np.frombuffer(b"".join(texts) or b"\0", np.uint8), np.array(scopes, np.uint64)
    table = kernel.make_table(1 << 10)
    kernel.count_lines(data, bounds, hashes, np.ones(len(texts), np.bool_), 1, table)
    counts = naive.count_lines(texts, scopes)
    counted = (table.entries[:, kernel.COUNT] & kernel.COUNT_MASK).tolist()
    assert sorted(filter(None, counted)) == sorted(counts.values())
    least = chance.choice([0, 10])
    parts = kernel.split_lines(data, bounds[:-1], bounds[1:], hashes, least, table)
    own = [parts.own[a:b].tobytes() for a, b in zip([0, *parts.own_end[:-1]], parts.own_end, strict=True)]
    ends = parts.repeated_end
    repeated = [parts.repeated[a:b].tobytes() for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    assert list(zip(own, repeated, strict=True)) == naive.split_lines(texts, scopes, least, counts)


def test_a_full_table_takes_no_more_lines_and_ends() -> None:
    table = kernel.make_table(16)
    text = b"\n".join(b"line %d" % n for n in range(1_000))
    data, bounds = np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64)
    kernel.count_lines(data, bounds, np.ones((1, 2), np.uint64), np.ones(1, np.bool_), 1, table)
    assert table.used[0] == 12
    kernel.insert_entries(np.arange(1, 99, dtype=np.uint64), np.ones(98, np.uint32), table)
    assert table.used[0] == 12


def test_what_all_pages_of_a_host_have_is_moved_out_of_the_body() -> None:
    documents = SiteBlocks().learn(documents_of([page(n) for n in range(8)] + [page(9, "b.test")]))
    for number, document in enumerate(documents[:8]):
        assert document.fields[Field.BODY].decode() == story(number)
        assert document.fields[Field.BOILERPLATE].decode() == f"Examples\n{NOTICE}"
        assert document.fields[Field.HEADING] == b""
    assert NOTICE in documents[8].fields[Field.BODY].decode(), "one page says nothing about its host"


def test_a_page_of_nothing_else_stays_as_it_is() -> None:
    documents = SiteBlocks().learn(documents_of([page(n) for n in range(8)] + [page(9, text=f"Examples\n{NOTICE}")]))
    assert documents[8].fields[Field.BODY].decode() == f"Examples\n{NOTICE}"


def test_pages_without_markup_are_left_alone() -> None:
    records = [visit(f"https://a.test/{n}", "Title", f"{story(n)}\n{NOTICE}") for n in range(8)]
    documents = documents_of(records)
    assert SiteBlocks().learn(documents) == documents


def test_a_page_that_is_fetched_again_counts_once() -> None:
    blocks = SiteBlocks()
    for number in range(9):
        text = f"Changed {number} times since the lighthouse was built there.\nThe rest of the page is as it was."
        (document,) = blocks.learn(documents_of([page(1, text=text)]))
    assert document.fields[Field.BODY].decode() == text


def test_blocks_are_learned_over_batches_and_pruned_by_frequency() -> None:
    blocks = SiteBlocks(slots=256)
    for number in range(40):
        (document,) = blocks.learn(documents_of([page(number)]))
    assert NOTICE not in document.fields[Field.BODY].decode()


def test_what_was_learned_is_used_by_later_builds_and_live(tmp_path: Path) -> None:
    build_index([page(n) for n in range(8)], tmp_path, IndexSettings())
    assert blocks_path(tmp_path).exists()
    build_index([page(20)], tmp_path, IndexSettings(), append=True)
    with LiveIndex(tmp_path, IndexSettings(), background=False) as live:
        live.add(page(30))
        live.publish()
    index = Index.open(tmp_path)
    texts = {s.string("url", n): s.text(n).decode() for s in index.segments for n in range(s.documents)}
    assert texts == {f"https://a.test/{n}": story(n) for n in (*range(8), 20, 30)}
    assert check_index(tmp_path) == []


def test_a_damaged_file_is_reported_and_counts_as_absent(tmp_path: Path) -> None:
    build_index([page(n) for n in range(8)], tmp_path, IndexSettings())
    raw = bytearray(blocks_path(tmp_path).read_bytes())
    raw[-1] ^= 1
    raw[-64] ^= 1
    blocks_path(tmp_path).write_bytes(raw)
    with pytest.raises(CorruptFile):
        check_blocks(tmp_path)
    assert any("blocks.arrays" in fault for fault in check_index(tmp_path))
    (document,) = SiteBlocks(tmp_path).split(documents_of([page(20)]))
    assert NOTICE in document.fields[Field.BODY].decode()
    blocks_path(tmp_path).unlink()
    assert check_index(tmp_path) == []


def test_folders_of_a_host_have_blocks_of_their_own() -> None:
    records = [
        visit(f"https://a.test/{folder}/{n}", "T", body, main=(0, len(body)))
        for folder in ("one", "two", "three", "four", "five")
        for n in range(6)
        for body in [f"{story(n)} In part {folder}.\nThe menu of the part called {folder} of the site"]
    ]
    documents = SiteBlocks().learn(documents_of(records))
    assert all(b"menu" not in document.fields[Field.BODY] for document in documents)


def test_a_repeated_line_within_the_text_of_a_page_stays_there() -> None:
    texts = [f"{NOTICE}\n{story(n)}\nInherited members of every class\n{story(n + 50)}" for n in range(8)]
    documents = SiteBlocks().learn(documents_of([page(n, text=text) for n, text in enumerate(texts)]))
    for text, document in zip(texts, documents, strict=True):
        assert document.fields[Field.BODY].decode() == text.removeprefix(f"{NOTICE}\n")
