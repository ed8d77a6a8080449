"""Copies: what is copied and removed, and that answers stay those of one index, whatever is copied or deleted."""

import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_sites import LocalSites, MadeFederation, spread

from index.made_pages import Ranks, queries, random_ranks, random_visits
from periplus.errors import BadInput, PeerFailed, SiteUnreachable
from periplus.index import LiveIndex
from periplus.records import Query
from periplus.sites import LocalNetwork, TransportSource, serve_documents
from periplus.sites.forwarding import FederatedSearcher, decode_bounds
from periplus.sites.replication import (
    DocumentDemand,
    ReplicaDemand,
    ReplicaEntry,
    ReplicationSettings,
    Replicator,
    decode_slice,
    encode_slice,
    make_slice,
    plan_replication,
)
from periplus.sites.replication.replica_slices import MAX_SLICE_DOCUMENTS

RULES = ReplicationSettings(free_share=0.0, add_count=1.0, keep_share=0.5, min_periods=1)


class MadeSource:
    """Fetches from sites in this process; `silent` ones do not answer."""

    def __init__(self, made: MadeFederation) -> None:
        self.made = made
        self.silent: set[str] = set()

    def fetch_documents(self, site: str, keys: Sequence[int]) -> bytes:
        self._check(site)
        index = self.made.shards[self.made.names.index(site)].index
        return encode_slice(make_slice(site, index, keys, self.made.settings.index))

    def fetch_bounds(self, site: str, copies: Mapping[str, npt.NDArray[np.int64]]) -> bytes:
        self._check(site)
        return self.made.bounds(self.made.names.index(site), copies=copies)

    def _check(self, site: str) -> None:
        if site in self.silent:
            raise PeerFailed(f"{site} does not answer.")


def open_replicating(
    made: MadeFederation, own: int = 0
) -> tuple[FederatedSearcher, LocalSites, Replicator, MadeSource]:
    """Return the searcher of a site that replicates what is asked for."""
    searcher, remote = made.searcher(own)
    source = MadeSource(made)
    folder = made.folder / made.names[own] / "copies"
    replicator = Replicator(folder, searcher.federation, source, made.settings, RULES)
    searcher.observe = replicator.observe
    return searcher, remote, replicator, source


def copy_some(
    replicator: Replicator, searcher: FederatedSearcher, made: MadeFederation, share: float, seed: int
) -> None:
    """Count some documents of other sites as often asked for, at least one of each, and copy them."""
    chance = random.Random(seed)
    for number, shard in enumerate(made.shards):
        keys = [int(key) for segment in shard.index.segments for key in segment.column("key")[segment.is_live]]
        if number != searcher.federation.own:
            replicator.observe([(number, key, False) for key in keys if chance.random() < share or key == keys[0]])
    replicator.run_period(searcher.collection.descriptions)


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from((0.1, 0.5, 1.0)), st.lists(queries(), min_size=6, max_size=6))
def test_answers_stay_those_of_one_index(seed: int, share: float, asked: list[str]) -> None:
    """Random placements; then random copies; then deletions at the sites; then other copies."""
    folder = Path(tempfile.mkdtemp(prefix="periplus-copies-"))
    try:
        visits = random_visits(seed, 60)
        made = MadeFederation(folder, spread(visits, 3, seed), Ranks(random_ranks(seed, visits)))
        searcher, _, replicator, _ = open_replicating(made)
        copy_some(replicator, searcher, made, share, seed)
        assert sum(len(store) for store in replicator.stores.values())
        for words in asked * 2:
            made.assert_same(searcher, Query(words), copies=True)
        delete_some(made, visits, seed)
        refresh(made, searcher)
        replicator.run_period(searcher.collection.descriptions)
        for words in asked:
            made.assert_same(searcher, Query(words), copies=True)
        copy_some(replicator, searcher, made, share, seed + 1)
        for words in asked * 2:
            made.assert_same(searcher, Query(words, explain=True), copies=True)
    finally:
        shutil.rmtree(folder)


def delete_some(made: MadeFederation, visits: Sequence[object], seed: int) -> None:
    """Delete some pages at their sites, and in the one index."""
    chance = random.Random(seed)
    gone = [visit.url for visit in visits if chance.random() < 0.2]  # type: ignore[attr-defined]
    for name in ("one", *made.names):
        with LiveIndex(made.folder / name / "index", made.settings.index, background=False) as live:
            for url in gone:
                live.delete(url)
            live.publish()


def refresh(made: MadeFederation, searcher: FederatedSearcher) -> None:
    """Open what changed, and send new bounds."""
    made.whole.refresh()
    for shard in made.shards:
        shard.refresh()
    searcher.refresh()
    for number, site in searcher.federation.sites.items():
        assert site.receive_bounds(made.bounds(number))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeFederation:
    visits = random_visits(5, 240)
    return MadeFederation(tmp_path_factory.mktemp("copies"), spread(visits, 2, 5), Ranks(random_ranks(5, visits)))


def test_with_all_documents_copied_no_site_is_asked(made: MadeFederation) -> None:
    searcher, remote, replicator, source = open_replicating(made)
    copy_some(replicator, searcher, made, 1.0, 1)
    remote.calls.clear()
    for words in ("sea chart", "harbour light", '"sea chart"', "+fog -bell", "sa*", "intitle:sea"):
        assert made.assert_same(searcher, Query(words), copies=True) == 0
        assert made.assert_same(searcher, Query(words, explain=True), copies=True) == 0
    assert all(method == "statistics" for method, _ in remote.calls)
    page, record = searcher.search_recorded(Query("sea chart"))
    assert record.sites[1].copies == record.sites[1].results > 0
    assert len(page.hits) == 10
    assert replicator.status().copies["site-1"] == made.shards[1].index.documents
    # A site that is silent keeps its copies, and they still answer.
    source.silent = {"site-1"}
    replicator.run_period(searcher.collection.descriptions)
    assert made.assert_same(searcher, Query("sea chart"), copies=True) == 0


def test_what_is_no_longer_asked_for_is_removed_and_masters_never(made: MadeFederation) -> None:
    searcher, _, replicator, _ = open_replicating(made)
    before = made.shards[0].index.documents
    copy_some(replicator, searcher, made, 0.3, 2)
    assert sum(len(store) for store in replicator.stores.values()) > 0
    for _ in range(6):
        replicator.run_period(searcher.collection.descriptions)
    assert sum(len(store) for store in replicator.stores.values()) == 0
    assert not searcher.federation.replicas
    assert made.shards[0].index.documents == before
    for words in ("sea chart", "harbour light"):
        made.assert_same(searcher, Query(words), copies=True)


def test_copies_are_opened_again(made: MadeFederation) -> None:
    searcher, _, replicator, source = open_replicating(made)
    copy_some(replicator, searcher, made, 0.5, 3)
    count = len(replicator.stores[1])
    again = Replicator(made.folder / "site-0" / "copies", searcher.federation, source, made.settings, RULES)
    assert len(again.stores[1]) == count > 0
    assert again.stores[1].replica_set(searcher.collection.descriptions[1]) is not None


def test_bounds_of_other_copies_are_not_used(made: MadeFederation) -> None:
    searcher, _, replicator, source = open_replicating(made)
    copy_some(replicator, searcher, made, 1.0, 4)
    store = replicator.stores[1]
    store.update(removed=store.keys().tolist()[:5])
    searcher.federation.set_replicas(1, store.replica_set(searcher.collection.descriptions[1]))
    _, record = searcher.search_recorded(Query("sea chart"))
    assert record.sites[1].outcome == "answered"
    assert "other copies" in record.sites[1].reason
    searcher.federation.sites[1].receive_bounds(source.fetch_bounds("site-1", store.copies()))
    for words in ("sea chart", "harbour light", "fog bell"):
        made.assert_same(searcher, Query(words), copies=True)


def test_slices_that_are_damaged_or_of_another_site_are_refused(made: MadeFederation, tmp_path: Path) -> None:
    index = made.shards[1].index
    keys = [int(key) for key in index.segments[0].column("key")[:5]]
    documents = make_slice("site-1", index, keys, made.settings.index)
    assert len(documents.owners) == 5
    data = encode_slice(documents)
    assert decode_slice(data, "site-1").numbers.tolist() == documents.numbers.tolist()
    for bad in (b"", data[:-9], encode_slice(documents._replace(owners=documents.owners + np.int32(9)))):
        with pytest.raises(BadInput):
            decode_slice(bad, "site-1")
    with pytest.raises(BadInput):
        decode_slice(data, "site-0")
    with pytest.raises(BadInput):
        decode_slice(encode_slice(documents._replace(files=(("../x", b""),))), "site-1")
    with pytest.raises(BadInput):
        make_slice("site-1", index, range(MAX_SLICE_DOCUMENTS + 1), made.settings.index)
    searcher, _, replicator, _ = open_replicating(made)
    store = replicator.stores[1]
    store.clear()
    torn = documents._replace(files=tuple((name, data[: len(data) // 2]) for name, data in documents.files))
    with pytest.raises(BadInput):
        store.update(torn)
    assert store.replica_set(searcher.collection.descriptions[1]) is None


def test_demand_is_bounded_and_forgets() -> None:
    demand = ReplicaDemand(most=3)
    for key in (1, 1, 1, 2, 2, 3, 4):
        demand.add([("there", key)])
    assert len(demand) == 3
    assert demand.most_frequent()[0] == DocumentDemand("there", 1, 3.0)
    assert demand.count("there", 4) == 2.0  # It took the place of the rarest, and its count.
    for _ in range(3):
        demand.end_period()
    assert len(demand) == 0


def _demand(**counts: float) -> list[DocumentDemand]:
    items = [DocumentDemand("there", int(name[1:]), count) for name, count in counts.items()]
    return sorted(items, key=lambda item: -item.count)


def test_the_policy_has_a_budget_and_does_not_flap() -> None:
    rules = ReplicationSettings(
        budget_bytes=300, free_share=0.0, add_count=3.0, keep_share=0.25, replace_ratio=2.0, min_periods=2
    )
    change = plan_replication(_demand(k1=9, k2=5, k3=4, k4=3, k5=2), {}, rules, 100)
    assert change.add == (("there", 1), ("there", 2), ("there", 3))  # k4 does not fit, k5 is too rare.
    few = plan_replication(_demand(k1=9, k2=5, k3=4), {}, ReplicationSettings(max_documents=2), 100)
    assert few.add == (("there", 1), ("there", 2))
    young = {("there", n): ReplicaEntry(100, 1) for n in (1, 2, 3)}
    settled = {key: ReplicaEntry(100, 2) for key in young}
    assert plan_replication(_demand(k4=50), young, rules, 100) == ((), ())  # They have just come.
    change = plan_replication(_demand(k4=50, k1=9, k2=5, k3=4), settled, rules, 100)
    assert change == ((("there", 4),), (("there", 3),))
    assert plan_replication(_demand(k4=7, k1=9, k2=5, k3=4), settled, rules, 100) == ((), ())  # Not twice as frequent.
    change = plan_replication(_demand(k1=1, k2=0.5), settled, rules, 100)
    assert change.remove == (("there", 3), ("there", 2))
    again = plan_replication(_demand(k1=1, k2=2.9, k3=2.9), {("there", 1): ReplicaEntry(100, 9)}, rules, 100)
    assert again == ((), ())  # What was removed comes back only if it is asked for as often as at first.


def test_free_room_is_used_before_anything_is_chosen() -> None:
    rules = ReplicationSettings(budget_bytes=1_000, free_share=0.5, add_count=3.0, min_periods=0)
    first = plan_replication(_demand(k1=9, **{f"k{n}": 1 for n in range(2, 9)}), {}, rules, 100)
    assert len(first.add) == 4
    idle = {key: ReplicaEntry(100, 9) for key in first.add}
    assert not plan_replication([], idle, rules, 100).remove
    busy = idle | {("there", 100 + n): ReplicaEntry(100, 9) for n in range(3)}
    assert len(plan_replication([], busy, rules, 100).remove) == 3, "down to what costs nothing"
    assert not plan_replication(_demand(k1=2), busy, rules, 100).add


def test_settled_copies_are_not_removed_to_be_copied_again() -> None:
    rules = ReplicationSettings(budget_bytes=1_000, free_share=0.5, add_count=3.0, min_periods=0)
    demand = _demand(**{f"k{n}": 0.5 + n / 100 for n in range(1, 12)})
    copies = {("there", n): ReplicaEntry(80 + 10 * (n % 5), 9) for n in range(1, 8)}
    for _ in range(6):
        change = plan_replication(demand, copies, rules, 100)
        assert len(change.add) + len(change.remove) <= 3
        copies = {key: entry for key, entry in copies.items() if key not in change.remove}
        copies |= {key: ReplicaEntry(80 + 10 * (key[1] % 5), 0) for key in change.add}
    assert not any(plan_replication(demand, copies, rules, 100))


def test_documents_and_bounds_travel_over_a_transport(made: MadeFederation) -> None:
    network = LocalNetwork()
    here, there = network.join("site-0"), network.join("site-1")
    index = made.shards[1].index
    serve_documents(
        there,
        "site-1",
        lambda: index,
        lambda current, copies: decode_bounds(made.bounds(1, copies=copies), "site-1"),
        made.settings.index,
    )
    searcher, _ = made.searcher(0)
    source = TransportSource(here)
    folder = made.folder / "transported"
    replicator = Replicator(folder, searcher.federation, source, made.settings, RULES)
    copy_some(replicator, searcher, made, 0.3, 6)
    assert len(replicator.stores[1]) > 0
    assert replicator.status().fault == ""
    for words in ("sea chart", "harbour light"):
        made.assert_same(searcher, Query(words), copies=True)
    network.cut("site-0", "site-1")
    count = len(replicator.stores[1])
    copy_some(replicator, searcher, made, 1.0, 7)
    assert len(replicator.stores[1]) == count
    assert "site-1" in replicator.status().fault
    network.mend("site-0", "site-1")
    for subject, body in (("documents", b"x"), ("bounds-without", b"x"), ("documents", b"\x91\xc0")):
        with pytest.raises(SiteUnreachable):
            here.request("site-1", subject, body, 5.0)
