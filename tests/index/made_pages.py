"""Small random corpora for tests of index, query and search."""

import random
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from periplus.hashing import fingerprint_text
from periplus.records import FetchRecord, Outcome, Page

WORDS = (
    *("sea", "chart", "the", "of", "ship", "ships", "harbour", "light", "fog", "bell", "tide", "wind"),
    *("and", "rope", "sail", "sails", "12", "15", "1850", "007"),
)
HOSTS = ("coast.test", "www.coast.test", "deep.coast.test", "mountain.test")


def visit(url: str, title: str = "", text: str = "", **more: object) -> FetchRecord:
    page = Page(url, title=title, text=text, language="en", **more)  # type: ignore[arg-type]
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, 86_400.0 * (len(title) % 20), 200, page=page)


def random_visits(seed: int, count: int) -> list[FetchRecord]:
    """Make pages of a few common words, so that queries match some of them in every way."""
    chance = random.Random(seed)

    def words(most: int) -> str:
        return " ".join(chance.choice(WORDS) for _ in range(chance.randint(0, most)))

    visits = [
        visit(
            f"https://{chance.choice(HOSTS)}/{chance.choice('ab')}/{number}",
            words(5),
            words(40),
            headings=(words(4),),
            emphasis=(words(2),),
        )
        for number in range(count)
    ]
    return [_with_main(record, random.Random(f"{seed} {number}")) for number, record in enumerate(visits)]


def _with_main(record: FetchRecord, chance: random.Random) -> FetchRecord:
    """Return half of the records with main content: a run of words from the text of the page."""
    page = record.page
    assert page is not None
    starts = [0, *(at + 1 for at, letter in enumerate(page.text) if letter == " ")]
    if chance.random() < 0.5 or len(starts) < 3:
        return record
    begin, end = sorted(chance.sample(starts[1:], 2))
    return msgspec.structs.replace(record, page=msgspec.structs.replace(page, main=(begin, end - 1)))


class Ranks:
    """Signals with a given static rank for each key."""

    def __init__(self, ranks: dict[int, float]) -> None:
        self.ranks = ranks

    def static_ranks(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.float32]:
        return np.array([self.ranks.get(int(key), 0.0) for key in keys], np.float32)

    def flags(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
        """Warn of nothing."""
        return np.zeros(len(keys), np.uint16)

    def anchors(self, key: int) -> str:
        return ""

    def representatives(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        return keys


def random_ranks(seed: int, visits: Sequence[FetchRecord]) -> dict[int, float]:
    chance = random.Random(seed)
    return {v.key: float(np.float32(chance.random() if chance.random() < 0.5 else 0.0)) for v in visits}


def queries() -> st.SearchStrategy[str]:
    """Queries of every operator, as people type them."""
    word = st.sampled_from([*WORDS, "unknownword", "12", "1850"])
    phrase = st.lists(word, min_size=1, max_size=3).map(lambda ws: '"' + " ".join(ws) + '"')
    place = st.tuples(st.sampled_from(("intitle:", "inheading:", "inurl:", "intext:")), st.one_of(word, phrase)).map(
        "".join
    )
    near = st.tuples(word, st.sampled_from(("NEAR", "AROUND(1)", "AROUND(3)")), word).map(" ".join)
    some = st.sampled_from(
        (
            *("site:coast.test", "site:mountain.test", "site:coast.test/a", "site:nowhere.test", "lang:en", "lang:de"),
            *("filetype:html", "filetype:pdf", "before:1970-01-10", "after:1970-01-10", "sa*", "s*", "zzz*"),
            *("10..20", "1800..1900", "5..5"),
        )
    )
    atom = st.one_of(word, word, phrase, place, some)
    signed = st.one_of(st.tuples(st.sampled_from(("", "", "", "-", "+")), atom).map("".join), near)

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        sequence = st.lists(inner, min_size=1, max_size=3).map(" ".join)
        return st.one_of(
            st.lists(sequence, min_size=2, max_size=3).map(lambda s: "(" + " OR ".join(s) + ")"),
            sequence.map(lambda s: f"({s})"),
            sequence.map(lambda s: f"-({s})"),
            st.lists(sequence, min_size=2, max_size=3).map(" AND ".join).map(lambda s: f"({s})"),
            sequence.map(lambda s: f"intitle:({s})"),
        )

    item = st.recursive(signed, extend, max_leaves=5)
    joint = st.sampled_from((" ", " ", " ", " AND "))
    return st.tuples(joint, st.lists(item, min_size=1, max_size=4)).map(lambda parts: parts[0].join(parts[1]))
