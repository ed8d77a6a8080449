"""Random webs for graphs of several shards, and comparisons of these with the graph of one machine."""

from contextlib import ExitStack

import numpy as np
from hypothesis import strategies as st

from periplus.crawl import HostPartitioner
from periplus.graph import (
    Backlinks,
    Graph,
    build_graph,
    build_shard_graph,
    learn_shard_synonyms,
    learn_synonyms,
    read_synonyms,
    run_programs,
)
from periplus.graph.exchange.rounds import Part
from periplus.records import FetchRecord, Link, Outcome, Page
from periplus.settings import GraphSettings, StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address

TEXTS = ("tide chart", "Tide Chart", "sea level", "here", "", "harbour of Trieste", "météo marine", "x" * 90)


def key(url):
    return parse_address(url).key


@st.composite
def webs(draw):
    """Return fetch records: hosts of several domains, mirrors, redirects, cycles, duplicates, variants, self links."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    domains, hosts_each = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    hosts = [f"{'www.' * n}h{n}.d{d}.test" for d in range(domains) for n in range(hosts_each)]
    paths = [f"/p{n}" for n in range(draw(st.integers(1, 8)))]
    urls = [f"http://{host}{path}" for host in hosts for path in paths]
    chances = draw(st.sampled_from([(0.1, 0.1, 0.05, 0.1, 0.1), (0, 0, 0, 0, 0), (0.3, 0.3, 0.1, 0.3, 0.6)]))
    return list(_records(random, urls, draw(st.integers(0, 8)), draw(st.booleans()), chances))


def _records(random, urls, degree, mirrored, chances):
    moved, canonical, gone, duplicate, near = chances
    marks = random.integers(1, 2**63, 4).tolist()
    for url in [*urls, *random.choice(urls, len(urls) // 4).tolist()]:
        depth = int(random.integers(0, 4))
        path_mark = key("http://any.test/" + url.rpartition("/")[2])
        simhash = (path_mark if mirrored else int(random.choice(marks))) ^ (1 << int(random.integers(0, 64)))
        if random.random() < moved:
            target = str(random.choice(urls))
            yield FetchRecord(url, key(url), Outcome.REDIRECT, 1.0, 301, depth=depth, location=target)
            continue
        if random.random() < gone:
            yield FetchRecord(url, key(url), Outcome.GONE, 1.0, 404, depth=depth)
            continue
        links = tuple(
            Link(str(target), str(random.choice(TEXTS)), nofollow=bool(random.random() < 0.05))
            for target in random.choice(
                [*urls, url, "http://nowhere.test/", "mailto:x"], int(random.integers(0, degree + 1))
            )
        )
        page = Page(
            url,
            links=links,
            canonical=str(random.choice(urls)) if random.random() < canonical else "",
            noindex=bool(random.random() < 0.05),
        )
        yield FetchRecord(
            url,
            key(url),
            Outcome.OK,
            1.0,
            200,
            depth=depth,
            page=page,
            content=int(random.integers(1, 9)) if random.random() < duplicate else 0,
            simhash=simhash if random.random() < near else 0,
            near_duplicate_of=str(random.choice(urls)) if random.random() < near / 4 else "",
            duplicate_of=str(random.choice(urls)) if random.random() < duplicate / 4 else "",
        )


def split_records(records, shards):
    """Return the records of each shard, by the owner of the host."""
    partitioner = HostPartitioner(tuple(range(shards)))
    parts = [[] for _ in range(shards)]
    for record in records:
        parts[partitioner.owner(parse_address(record.url).host)].append(record)
    return parts


def write_store(folder, records):
    """Write records to a store."""
    with PageStore.open(folder, StoreSettings(), write=True) as store:
        for record in records:
            store.append(record)


def build_parts(folder, parts, settings=None, on_round=lambda rounds: None):
    """Build the graphs of all shards in this process; return their statistics."""
    partitioner = HostPartitioner(tuple(range(len(parts))))
    with ExitStack() as stack:
        programs = []
        for number, records in enumerate(parts):
            write_store(folder / f"shard-{number:02d}" / "store", records)
            store = stack.enter_context(PageStore.open(folder / f"shard-{number:02d}" / "store", StoreSettings()))
            part = Part(number, len(parts), partitioner.owner)
            graph = folder / f"shard-{number:02d}" / "graph"
            programs.append(_build_with_synonyms(store, graph, settings or GraphSettings(), part))
        return run_programs(programs, on_round)


def _build_with_synonyms(store, folder, settings, part):
    statistics = yield from build_shard_graph(store, folder, settings, part)
    yield from learn_shard_synonyms(Graph.open(folder), folder, part)
    return statistics


def build_whole(folder, parts, settings=None):
    """Build the graph of one machine, which reads the pages shard by shard."""
    write_store(folder / "store", [record for records in parts for record in records])
    with PageStore.open(folder / "store", StoreSettings()) as store:
        statistics = build_graph(store, folder / "graph", settings or GraphSettings())
    learn_synonyms(Graph.open(folder / "graph"), folder / "graph")
    return statistics


def compare_graphs(folder, parts, whole_folder):
    """Assert that the graphs of shards say the same as that of one machine; return the L1 distance of the ranks."""
    whole = Graph.open(whole_folder / "graph")
    backlinks = Backlinks.open(whole_folder / "graph")
    graphs = [Graph.open(folder / f"shard-{number:02d}" / "graph") for number in range(len(parts))]
    shard_backlinks = [Backlinks.open(folder / f"shard-{number:02d}" / "graph") for number in range(len(parts))]
    distance, host_distance, pages = 0.0, 0.0, 0
    for graph, records in zip(graphs, parts, strict=True):
        names = np.unique(np.array([record.key for record in records], np.uint64))
        represented = whole.representatives(names)
        np.testing.assert_array_equal(graph.representatives(names), represented)
        own = names[represented == names]
        ours, theirs = graph.signals(own), whole.signals(own)
        distance += float(np.abs(ours.pagerank - theirs.pagerank).sum())
        host_distance += float(np.abs(ours.hostrank - theirs.hostrank).max(initial=0.0))
        pages += int((ours.pagerank > 0).sum())
        for name in ("in_links", "in_hosts", "spam_mass", "trust"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
        np.testing.assert_array_equal(graph.static_ranks(own), whole.static_ranks(own))
        np.testing.assert_array_equal(graph.flags(own), whole.flags(own))
        assert [graph.anchors(name) for name in own.tolist()] == [whole.anchors(name) for name in own.tolist()]
        assert read_synonyms(folder / "shard-00" / "graph") == read_synonyms(whole_folder / "graph")
        assert anchor_hosts(graph, own) == anchor_hosts(whole, own)
    assert pages == len(whole)
    assert host_distance <= 1e-9
    for name in {record.key for records in parts for record in records}:
        linking = np.concatenate([links.find_by_url(name) for links in shard_backlinks])
        np.testing.assert_array_equal(np.sort(linking), backlinks.find_by_url(name))
    return distance


def anchor_hosts(graph, keys):
    """Return the hosts of the anchor texts of some pages."""
    rows, anchors = graph._find(keys).tolist(), graph.anchor_hosts()
    return [anchors.hosts[anchors.first[row] : anchors.first[row + 1]].tolist() for row in rows if row >= 0]
