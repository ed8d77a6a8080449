"""Collection statistics as an input of a build: gathered from samples, summed, stored, and used by all writers."""

import hashlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

from index.made_pages import Ranks, random_ranks, random_visits, visit
from naive.merge import naive_fields
from periplus.errors import BadInput, CorruptFile
from periplus.index import (
    BuildStatistics,
    Index,
    IndexMeasurer,
    LiveIndex,
    build_index,
    folder_statistics,
    gather_build_statistics,
    read_build_statistics,
    sum_build_statistics,
    write_build_statistics,
)
from periplus.index.builder.field_scaling import scale_fields
from periplus.index.document_fields import Field
from periplus.index.kernels import postings_merge
from periplus.records import FetchRecord, Outcome
from periplus.settings import IndexSettings

SETTINGS = IndexSettings()


def hashes(folder: Path) -> list[tuple[str, str]]:
    """Return the files of the segments of an index, in order, with the hash of each."""
    segments = [entry.name for entry in Index.open(folder).manifest.segments]
    return [
        (path.name, hashlib.blake2b(path.read_bytes()).hexdigest())
        for name in segments
        for path in sorted((folder / name).iterdir())
    ]


def test_a_segment_is_byte_equal_wherever_it_is_built(tmp_path: Path) -> None:
    """The shards of a collection, here and there, and the same pages appended to one index, shard by shard."""
    visits = random_visits(4, 120)
    ranks = Ranks(random_ranks(4, visits))
    hosts = sorted({record.url.split("/")[2] for record in visits})
    parts = [[record for record in visits if record.url.split("/")[2] == host] for host in hosts]
    statistics = sum_build_statistics([gather_build_statistics(part) for part in parts], 7)
    for number, part in enumerate(parts):
        for place in ("here", "there"):
            build_index(part, tmp_path / place / str(number), SETTINGS, ranks, statistics=statistics)
        given = statistics if number == 0 else None
        build_index(part, tmp_path / "one", SETTINGS, ranks, append=number > 0, statistics=given)
    here, there = (
        [item for number in range(len(parts)) for item in hashes(tmp_path / place / str(number))]
        for place in ("here", "there")
    )
    assert here == there
    assert here == hashes(tmp_path / "one")
    own = tmp_path / "own"
    build_index(parts[0], own, SETTINGS, ranks)
    assert hashes(own) != hashes(tmp_path / "here" / "0")


def test_impacts_do_not_depend_on_the_other_pages_of_a_segment(tmp_path: Path) -> None:
    long = [visit(f"https://a.test/{n}", "Tide", "tide " + "water " * 200) for n in range(30)]
    short = [visit("https://b.test/1", "Tide", "tide water")]
    statistics = sum_build_statistics([gather_build_statistics(part) for part in (long, short)], 1)
    impacts = []
    for name, records in (("both", [*long, *short]), ("alone", short)):
        build_index(records, tmp_path / name, SETTINGS, statistics=statistics)
        segment = Index.open(tmp_path / name).segments[0]
        document = segment.strings("url").index("https://b.test/1")
        entry = segment.find_term(b"water")
        assert entry
        impacts.append(segment.positions(entry, document)[1])
    assert impacts[0] == impacts[1]


def test_statistics_of_all_documents_are_those_of_the_segment() -> None:
    records = [visit(f"https://a.test/{n}", "Sea chart " * (n % 3), "word " * (n + 1)) for n in range(50)]
    gathered = gather_build_statistics([*records, *records[:10]])
    assert gathered.documents == 50
    lengths = np.zeros((50, len(Field)), np.int32)
    lengths[:, Field.BODY] = np.arange(1, 51)
    lengths[:, Field.TITLE] = [2 * (n % 3) for n in range(50)]
    assert gathered.tokens[Field.BODY] == lengths[:, Field.BODY].sum()
    assert gathered.filled[Field.TITLE] == (lengths[:, Field.TITLE] > 0).sum()
    table = np.tile(np.array(gathered.tokens) / 50, (50, 1)).astype(np.int32)
    assert scale_fields(table, SETTINGS, gathered).shape == table.shape


def test_a_sample_does_not_depend_on_the_order_of_records() -> None:
    records = random_visits(9, 300)
    gone = FetchRecord(records[0].url, records[0].key, Outcome.GONE, 0.0, 410)
    one = gather_build_statistics([*records, gone], sample=50)
    other = gather_build_statistics([*reversed(records), gone], sample=50)
    assert one == other
    assert one.documents == 299
    whole = gather_build_statistics([*records, gone])
    assert one.tokens[Field.BODY] == pytest.approx(whole.tokens[Field.BODY], rel=0.3)


def test_sums_do_not_depend_on_the_order_of_shards() -> None:
    parts = [gather_build_statistics(random_visits(seed, 30)) for seed in range(4)]
    total = sum_build_statistics(parts, 3)
    assert total == sum_build_statistics(parts[::-1], 3)
    assert total.documents == 120
    assert total.epoch == 3
    assert sum_build_statistics([], 1).documents == 0


def test_an_index_is_measured_as_its_pages_are(tmp_path: Path) -> None:
    """Against a pass over the texts; the pages of a second segment replace some of the first."""
    records = [visit(f"https://h{n}.test/{n}", "Sea chart " * (n % 3), "word " * (n + 1)) for n in range(40)]
    build_index(records[:25], tmp_path / "index", SETTINGS)
    measurer = IndexMeasurer()
    first = measurer.measure(Index.open(tmp_path / "index"))
    gathered = gather_build_statistics(records[:25])
    assert (first.documents, first.tokens, first.filled) == (25, gathered.tokens, gathered.filled)
    build_index(records[25:], tmp_path / "index", SETTINGS, append=True)
    index = Index.open(tmp_path / "index")
    both, whole = measurer.measure(index), gather_build_statistics(records)
    assert (both.documents, both.tokens, both.filled) == (40, whole.tokens, whole.filled)
    assert sum(both.languages.values()) == 40
    for segment in index.segments:
        masks = postings_merge.mark_fields(segment.postings, segment.valid_terms(), segment.documents)
        assert masks.tolist() == naive_fields(segment)
    build_index(records[:5], tmp_path / "index", SETTINGS, append=True)
    assert measurer.measure(Index.open(tmp_path / "index")).documents == 40


def test_an_index_is_rebuilt_with_other_statistics_while_it_is_live(tmp_path: Path) -> None:
    """A page that is added meanwhile has those of the folder; after the commit everything has the new ones."""
    records = random_visits(3, 40)
    one, other = (sum_build_statistics([gather_build_statistics(random_visits(n, 40))], n) for n in (5, 6))
    build_index(records, tmp_path / "live", SETTINGS, statistics=one)
    build_index(records, tmp_path / "new", SETTINGS, statistics=other)
    assert hashes(tmp_path / "live") != hashes(tmp_path / "new")
    with LiveIndex(tmp_path / "live", SETTINGS, background=False) as live:

        def again(start: int) -> list[FetchRecord]:
            assert folder_statistics(tmp_path / "live") == one
            return records[start:]

        live.rebuild(again, live.signals, statistics=other)
        assert folder_statistics(tmp_path / "live") == other
        assert hashes(tmp_path / "live") == hashes(tmp_path / "new")
        live.rebuild(lambda start: records[start:], live.signals)
        assert folder_statistics(tmp_path / "live") == other
    assert hashes(tmp_path / "live") == hashes(tmp_path / "new")


def test_they_are_stored_for_later_writers(tmp_path: Path) -> None:
    statistics = sum_build_statistics([gather_build_statistics(random_visits(2, 40))], 5)
    folder = tmp_path / "index"
    build_index(random_visits(2, 20), folder, SETTINGS, statistics=statistics)
    assert folder_statistics(folder) == statistics
    with LiveIndex(folder, SETTINGS, background=False) as live:
        live.add(visit("https://live.test/", "Sea", "sea chart"))
        live.publish()
    assert folder_statistics(folder) == statistics
    build_index(random_visits(3, 20), folder, SETTINGS, append=True)
    assert folder_statistics(folder) == statistics
    build_index(random_visits(3, 20), folder, SETTINGS)
    assert folder_statistics(folder) is None


def test_damaged_or_impossible_statistics_are_refused(tmp_path: Path) -> None:
    statistics = gather_build_statistics(random_visits(2, 10))
    path = tmp_path / "statistics.json"
    write_build_statistics(path, statistics)
    assert read_build_statistics(path) == statistics
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b'"documents":10', b'"documents":11'))
    with pytest.raises(CorruptFile):
        read_build_statistics(path)
    path.write_bytes(raw[:-5])
    with pytest.raises(CorruptFile):
        read_build_statistics(path)
    for changes in ({"tokens": (1.0,)}, {"documents": -1}, {"filled": (float("nan"),) * len(Field)}):
        other: BuildStatistics = msgspec.structs.replace(statistics, **changes)  # type: ignore[arg-type]
        with pytest.raises(BadInput):
            build_index(random_visits(2, 10), tmp_path / "index", SETTINGS, statistics=other)
