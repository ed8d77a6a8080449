"""Slack 0 gives the answers of one index over all sites, and no fault of another site changes local answers."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_sites import FORWARDING, LocalSites, MadeFederation, spread

from index.made_pages import Ranks, queries, random_ranks, random_visits, visit
from periplus.errors import BadInput
from periplus.records import FetchRecord, Query
from periplus.search import IndexShard, RetrieveReply
from periplus.sites.forwarding import FederatedSearcher, Federation, ForwardingSettings, decode_bounds, encode_bounds
from periplus.sites.forwarding.site_trust import EXCLUDED, TRUSTED, UNBOUNDED

TOPICS = (
    ("harbour", "tide", "ship", "anchor", "mast", "quay"),
    ("violin", "sonata", "chord", "tempo", "choir", "opera"),
    ("protein", "enzyme", "cell", "genome", "tissue", "serum"),
)


def topical_pages(count: int) -> list[list[FetchRecord]]:
    """Return the pages of three sites: each writes about its own topic, and sometimes about another."""
    parts: list[list[FetchRecord]] = []
    for site, own in enumerate(TOPICS):
        pages = []
        for n in range(count):
            words = [own[(n * k + k) % 6] for k in range(1, 9)] + [TOPICS[(site + 1) % 3][n % 6]] * (n % 9 == 0)
            url = f"https://h{n % 17}.site{site}.test/{n}"
            pages.append(visit(url, f"{own[n % 6]} {n}", " ".join((*words, "and", f"w{n % 31}"))))
        parts.append(pages)
    return parts


@pytest.fixture(scope="module")
def topical(tmp_path_factory: pytest.TempPathFactory) -> MadeFederation:
    return MadeFederation(tmp_path_factory.mktemp("topical"), topical_pages(160), Ranks({}))


@pytest.fixture(scope="module")
def scattered(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[MadeFederation, FederatedSearcher]]:
    federations = []
    for count in (2, 4):
        visits = random_visits(count, 300)
        ranks = Ranks(random_ranks(count, visits))
        made = MadeFederation(tmp_path_factory.mktemp(f"scattered-{count}"), spread(visits, count, count), ranks)
        federations.append((made, made.searcher(count - 1)[0]))
    return federations


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries(), st.integers(0, 1), st.integers(0, 25), st.booleans(), st.integers(1, 30))
def test_any_query_has_the_answer_of_one_index(
    scattered: list[tuple[MadeFederation, FederatedSearcher]],
    words: str,
    which: int,
    start: int,
    folded: bool,
    size: int,
) -> None:
    """Twice: the second time the answers of sites are known, and decide."""
    made, searcher = scattered[which]
    for _ in range(2):
        made.assert_same(searcher, Query(words, size=size, start=start, folded=folded))


@settings(max_examples=6, deadline=None)
@given(
    st.integers(0, 1_000), st.integers(2, 5), st.sampled_from((0, 1, 8)), st.lists(queries(), min_size=8, max_size=8)
)
def test_any_placement_has_the_answers_of_one_index(seed: int, count: int, group: int, asked: list[str]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="periplus-sites-"))
    try:
        visits = random_visits(seed, 60)
        made = MadeFederation(folder, spread(visits, count, seed), Ranks(random_ranks(seed, visits)), group=group)
        searcher, _ = made.searcher(0)
        for words in asked * 2:
            made.assert_same(searcher, Query(words))
    finally:
        shutil.rmtree(folder)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from([word for topic in TOPICS for word in topic] + ["and", "w3", "w17"]), min_size=1, max_size=6
    ),
    st.integers(0, 2),
    st.sampled_from((5, 10, 20)),
)
def test_topical_queries_are_answered_as_by_one_index(
    topical: MadeFederation, words: list[str], own: int, size: int
) -> None:
    searcher = _searcher(topical, own)
    topical.assert_same(searcher, Query(" ".join(words), size=size))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(4, 60), st.integers(4, 60), st.lists(st.sampled_from(TOPICS[0]), min_size=1, max_size=3))
def test_pages_without_vectors_elsewhere_are_allowed_for(
    shared_federations: Callable[[int, int], MadeFederation], here: int, there: int, words: list[str]
) -> None:
    """Whether similarities count depends on all candidates: those of a site that is left out, too."""
    made = shared_federations(here // 20, there // 20)
    for own in (0, 1):
        made.assert_same(_searcher(made, own), Query(" ".join(words)))


@pytest.fixture(scope="module")
def shared_federations(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, int], MadeFederation]:
    """Return what makes federations of an English site and a German one that has English words in its pages."""
    english = "the boat has a {} in the old {} and the light of the {} was on the water when they came home"
    german = (
        "das Schiff hat {} und liegt im alten Hafen, wo das Licht auf dem Wasser {} war, als sie {} nach Hause kamen"
    )
    federations: dict[tuple[int, int], MadeFederation] = {}

    def make(here: int, there: int) -> MadeFederation:
        if (here, there) not in federations:
            parts = [
                [
                    visit(
                        f"https://h{n}.{site}.test/{n}", f"{TOPICS[0][n % 6]} {n}", text.format(*TOPICS[0][n % 4 :][:3])
                    )
                    for n in range(20 * count + 12)
                ]
                for site, text, count in (("en", english, here), ("de", german, there))
            ]
            federations[here, there] = MadeFederation(tmp_path_factory.mktemp("shared"), parts, Ranks({}))
        return federations[here, there]

    return make


_SEARCHERS: dict[tuple[int, int], FederatedSearcher] = {}


def _searcher(made: MadeFederation, own: int) -> FederatedSearcher:
    key = (id(made), own)
    if key not in _SEARCHERS:
        _SEARCHERS[key] = made.searcher(own)[0]
    return _SEARCHERS[key]


def test_queries_about_local_topics_stay_local(topical: MadeFederation) -> None:
    searcher, remote = topical.searcher(0)
    remote.calls.clear()
    page, record = searcher.search_recorded(Query("harbour tide ship"))
    assert len(page.hits) == 10
    assert record.rounds == 0
    assert not remote.calls
    assert {site.outcome for site in record.sites} == {"local", "not asked"}
    assert all(site.reason for site in record.sites[1:])
    assert topical.assert_same(searcher, Query("violin sonata")) >= 1


def test_a_site_whose_settings_differ_answers_as_many_as_are_asked_for(topical: MadeFederation) -> None:
    """Twice: the second time the reply is known, and must not be thought to have all that matches."""
    searcher, remote = topical.searcher(0)
    search = msgspec.structs.replace(topical.settings.search, max_results=10)
    remote.shards[1] = IndexShard(
        topical.folder / "site-1", msgspec.structs.replace(topical.settings, search=search), 1
    )
    for _ in range(2):
        topical.assert_same(searcher, Query("violin", start=120, size=30))


def test_a_reply_that_leaves_out_what_matches_is_not_complete(topical: MadeFederation) -> None:
    searcher, remote = topical.searcher(0)
    remote.fault = lambda method, site, reply: _cut_reply(reply, 4) if method == "retrieve" else reply
    searcher.search(Query("violin sonata"))
    answers = [answer for sites in searcher.federation.known._answers.values() for answer in sites.values()]
    assert any(len(answer.scores) == 4 for answer in answers)
    assert not any(answer.complete for answer in answers if len(answer.scores) == 4)


def test_a_page_that_two_sites_have_is_shown_once(tmp_path: Path) -> None:
    """Each has another version of it, so that it is no near-duplicate of itself."""
    texts = (
        " ".join(["harbour", *(f"first{n}" for n in range(60))]),
        " ".join(f"harbour second{n}" for n in range(60)),
    )
    parts = [
        [
            visit("https://a.test/", "Version", text),
            *(visit(f"https://{site}.test/{n}", "Other", f"w{n}") for n in "123"),
        ]
        for site, text in zip("xy", texts, strict=True)
    ]
    made = MadeFederation(tmp_path, parts, Ranks({}))
    for own in (0, 1):
        page, record = made.searcher(own)[0].search_recorded(Query("harbour"))
        assert [hit.url for hit in page.hits] == ["https://a.test/"]
        assert sum(site.results for site in record.sites) == 1


def _cut_reply(reply: RetrieveReply, count: int) -> RetrieveReply:
    """Return a reply with the best candidates only; it still says how many match."""
    kept = reply.retrieved
    if len(kept.scores) <= count:
        return reply
    assert kept.nearest is None
    assert kept.home_page is None
    cut = {
        name: getattr(kept, name)[:count]
        for name in ("segments", "documents", "scores", "keys", "features", "days", "static")
    }
    return reply._replace(retrieved=kept._replace(**cut), columns=reply.columns[:count])


def test_the_record_is_json_that_names_sites_reasons_and_times(topical: MadeFederation) -> None:
    searcher, _ = topical.searcher(0)
    _, record = searcher.search_recorded(Query("violin sonata"))
    decoded = msgspec.json.decode(record.to_json())
    assert [site["site"] for site in decoded["sites"]] == topical.names
    answered = [site for site in decoded["sites"] if site["outcome"] == "answered"]
    assert answered
    assert all(site["milliseconds"] > 0 and site["reason"] for site in answered)
    assert sum(site.get("results", 0) for site in decoded["sites"]) == 10


def test_known_queries_are_forwarded_only_where_they_change_the_results(topical: MadeFederation) -> None:
    by_terms, _ = topical.searcher(0, msgspec.structs.replace(FORWARDING, known_queries=0))
    by_queries, _ = topical.searcher(0)
    words = [f"{one} {other} w{n}" for n, (one, other) in enumerate(zip(TOPICS[0] * 3, TOPICS[1] * 3, strict=True))]
    asked = [sum(topical.assert_same(searcher, Query(w)) for w in words * 2) for searcher in (by_terms, by_queries)]
    assert asked[1] <= asked[0]


def test_slack_forwards_no_more_than_exact_answers_do(topical: MadeFederation) -> None:
    words = [f"{TOPICS[0][n % 6]} {TOPICS[1][n % 5]} and" for n in range(18)]
    asked = []
    for slack in (0.0, 0.2, 5.0):
        searcher, _ = topical.searcher(0, msgspec.structs.replace(FORWARDING, slack=slack, known_queries=0))
        asked.append(sum(searcher.search_recorded(Query(w))[1].rounds for w in words))
    assert asked == sorted(asked, reverse=True)


def test_bounds_that_are_missing_old_or_of_another_generation_mean_that_a_site_is_asked(
    topical: MadeFederation,
) -> None:
    searcher, _ = topical.searcher(0)
    sites = searcher.federation.sites
    bounds = decode_bounds(topical.bounds(1), "site-1")
    assert searcher.search_recorded(Query("harbour tide ship"))[1].rounds == 0
    for changed in (bounds._replace(generation=bounds.generation + 1), bounds._replace(replica_version=7)):
        sites[1].set_bounds(changed)
        _, record = searcher.search_recorded(Query("harbour tide ship"))
        assert record.sites[1].outcome == "answered"
    sites[1].set_bounds(bounds, now=-1e9)
    assert searcher.search_recorded(Query("harbour tide ship"))[1].sites[1].reason == "its bounds are too old"
    assert not sites[1].receive_bounds(b"garbage")
    assert searcher.search_recorded(Query("harbour tide ship"))[1].sites[1].reason == "its bounds are not known"
    assert "cannot be read" in next(status.fault for status in searcher.federation.status() if status.site == "site-1")


def test_two_sites_with_one_name_are_refused() -> None:
    with pytest.raises(BadInput):
        Federation(["here", "there", "there"], 0)


def _unsound() -> list[Callable[[Any], Any]]:
    def put(field: str, at: int, value: float) -> Callable[[Any], Any]:
        def change(bounds: Any) -> Any:
            owner = bounds.features if field in bounds.features._fields else bounds
            array = np.array(getattr(owner, field))
            array[at] = value
            changed = owner._replace(**{field: array})
            return bounds._replace(features=changed) if owner is bounds.features else changed

        return change

    return [
        put("static", 0, float("nan")),
        put("static", 0, -1.0),
        put("static", 0, 7.0),
        put("mentions", 0, float("nan")),
        put("passages", -1, 1 << 31),
        put("passages", 0, 1),
        put("groups", 0, 1 << 30),
        put("term_starts", -1, 1 << 40),
        put("term_starts", 1, -5),
        put("terms", 1, 0),
        put("group_sizes", 0, 9_999),
        lambda bounds: bounds._replace(popularity=float("inf")),
        lambda bounds: bounds._replace(features=bounds.features._replace(signs=bounds.features.signs[:-1])),
        lambda bounds: bounds._replace(features=bounds.features._replace(depth=bounds.features.depth[:-1])),
        lambda bounds: bounds._replace(valid_seconds=float("nan")),
        lambda bounds: bounds._replace(documents=-1),
        lambda bounds: bounds._replace(site="another"),
        lambda bounds: bounds._replace(impacts=bounds.impacts[:-1]),
        lambda bounds: bounds._replace(format=99),
    ]


@pytest.mark.parametrize("change", _unsound())
def test_absurd_bounds_are_refused(topical: MadeFederation, change: Callable[[Any], Any]) -> None:
    bounds = decode_bounds(topical.bounds(1), "site-1")
    with pytest.raises(BadInput):
        decode_bounds(encode_bounds(change(bounds)), "site-1")


def test_messages_have_a_limit(topical: MadeFederation, monkeypatch: pytest.MonkeyPatch) -> None:
    data = topical.bounds(1)
    monkeypatch.setattr("periplus.sites.forwarding.site_bounds.MAX_MESSAGE_BYTES", 1_000)
    with pytest.raises(BadInput):
        decode_bounds(data, "site-1")
    with pytest.raises(BadInput):
        topical.bounds(1)


def test_a_site_that_returns_a_score_above_its_bound_is_asked_always_from_then_on(topical: MadeFederation) -> None:
    searcher, _ = topical.searcher(0)
    site = searcher.federation.sites[1]
    bounds = decode_bounds(topical.bounds(1), "site-1")
    site.set_bounds(bounds._replace(impacts=np.maximum(bounds.impacts // 3, 1)))
    while site.trust.state == TRUSTED:
        for words in ("violin sonata", "opera", "choir tempo chord"):
            searcher.search(Query(words))
    assert site.trust.state == UNBOUNDED
    assert "above its bound" in site.trust.reason
    _, record = searcher.search_recorded(Query("harbour tide ship"))
    assert record.sites[1].outcome == "answered"
    assert "not trusted" in record.sites[1].reason
    for words in ("harbour violin", "opera", "tide"):
        topical.assert_same(searcher, Query(words))
    site.trust.restore()
    site.set_bounds(bounds)
    assert searcher.search_recorded(Query("harbour tide ship"))[1].rounds == 0


def _change_retrieved(**changes: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def change(reply: RetrieveReply) -> RetrieveReply:
        retrieved = reply.retrieved
        parts = {name: run(getattr(retrieved, name)) for name, run in changes.items()}
        return reply._replace(retrieved=retrieved._replace(**parts))

    return change


IMPOSSIBLE = [
    _change_retrieved(scores=lambda scores: scores + np.float32(1e6)),
    _change_retrieved(scores=lambda scores: np.full_like(scores, np.nan)),
    _change_retrieved(scores=lambda scores: np.full_like(scores, np.inf)),
    _change_retrieved(scores=lambda scores: scores - np.float32(1e6)),
    _change_retrieved(features=lambda rows: rows + 50.0),
    _change_retrieved(features=lambda rows: rows * np.nan),
    _change_retrieved(features=lambda rows: np.c_[rows[:, :-1], np.ones(len(rows))]),  # The query names all of them.
]
MALFORMED = [
    _change_retrieved(documents=lambda documents: documents + np.int32(100_000)),
    _change_retrieved(documents=lambda documents: documents[:-1]),
    _change_retrieved(segments=lambda segments: segments - np.int32(1)),
    _change_retrieved(features=lambda rows: rows[:, :-1]),
    _change_retrieved(segment_count=lambda count: 1 << 30),
    lambda reply: reply._replace(columns=reply.columns[:-1]),
    lambda reply: None,
    lambda reply: b"garbage",
    lambda reply: (),
]


def _local_page(made: MadeFederation, words: str) -> list[int]:
    """Return what site 0 answers when nobody else does."""
    searcher, remote = made.searcher(0)
    remote.fault = lambda method, site, reply: None if method == "retrieve" else reply
    return [hit.key for hit in searcher.search(Query(words)).hits]


@pytest.mark.parametrize("change", [*IMPOSSIBLE, *MALFORMED])
def test_no_reply_of_another_site_changes_local_answers(topical: MadeFederation, change: Callable[[Any], Any]) -> None:
    words = "violin harbour"
    expected = _local_page(topical, words)
    searcher, remote = topical.searcher(0)
    remote.fault = lambda method, site, reply: change(reply) if method == "retrieve" else reply
    page, record = searcher.search_recorded(Query(words))
    assert [hit.key for hit in page.hits] == expected
    assert page.partial
    assert any("site-1" in note for note in page.notes)
    assert {site.outcome for site in record.sites[1:]} <= {"failed", "silent", "not asked"}
    if change in IMPOSSIBLE:
        assert searcher.federation.sites[1].trust.state == EXCLUDED
        remote.calls.clear()
        searcher.search(Query(words))
        assert all(1 not in sites for method, sites in remote.calls if method == "retrieve")
    local = searcher.search_recorded(Query("harbour tide ship"))
    assert len(local[0].hits) == 10


def test_garbage_several_times_in_a_row_excludes_a_site(topical: MadeFederation) -> None:
    searcher, remote = topical.searcher(0)
    change = MALFORMED[0]
    remote.fault = lambda method, site, reply: change(reply) if method == "retrieve" and site == 1 else reply
    for n in range(4):
        searcher.search(Query(f"violin w{n}"))
    status = next(status for status in searcher.federation.status() if status.site == "site-1")
    assert status.trust.state == EXCLUDED
    assert status.trust.malformed == 3
    assert "could not be used" in status.trust.reason


def test_a_silent_site_is_not_asked_for_a_while(topical: MadeFederation) -> None:
    searcher, remote = topical.searcher(0)
    remote.fault = lambda method, site, reply: None if method == "retrieve" and site == 1 else reply
    for n in range(5):
        assert searcher.search(Query(f"violin w{n}")).partial
    assert sum(1 in sites for method, sites in remote.calls if method == "retrieve") == 3
    trust = searcher.federation.sites[1].trust
    assert trust.state == TRUSTED
    assert trust.status(0.0).resting_seconds > 0
    trust.restore()
    remote.fault = lambda method, site, reply: reply
    topical.assert_same(searcher, Query("violin w1"))


@pytest.mark.parametrize("method", ["present", "signatures", "statistics"])
@pytest.mark.parametrize("garbage", [None, (), "short"])
def test_garbage_in_later_stages_leaves_local_results(topical: MadeFederation, method: str, garbage: Any) -> None:
    searcher, remote = topical.searcher(0)

    def fault(called: str, site: int, reply: Any) -> Any:
        if called != method:
            return reply
        if garbage == "short" and method == "present":
            return reply._replace(hits=reply.hits[:-1])
        return reply._replace(**{reply._fields[0]: reply[0][:-1]}) if garbage == "short" else garbage

    remote.fault = fault
    page = searcher.search(Query("violin harbour"))
    keys = {visit.key for part in topical_pages(160)[:1] for visit in part}
    assert page.hits
    assert method == "statistics" or any(hit.key in keys for hit in page.hits)


def test_a_fault_of_one_site_does_not_take_others_away(topical: MadeFederation) -> None:
    searcher, remote = topical.searcher(0)
    remote.fault = lambda method, site, reply: None if site == 2 and method == "retrieve" else reply
    page = searcher.search(Query("sonata enzyme"))
    hosts = {hit.url.split("/")[2].partition(".")[2] for hit in page.hits}
    assert "site1.test" in hosts
    assert "site2.test" not in hosts
    assert isinstance(remote, LocalSites)
    assert ForwardingSettings().slack == 0.0
