"""Where hosts are, and which site crawls them."""

import contextlib
import itertools
import math
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from periplus.errors import BadFile, BadInput, CorruptFile
from periplus.fakeweb import FAKE_REGIONS, FakeWeb, FakeWebPlan, GeoipEntry, write_geoip_file
from periplus.sites import (
    GeoDatabase,
    GeographicPartitioner,
    HostLocator,
    HostOwner,
    LocatedHost,
    Place,
    RoundTripReport,
    RoundTripTable,
    SitePlace,
    read_host_owners,
    write_host_owners,
)

DAY = 86_400.0
ZURICH, MADRID, SYDNEY = Place(47.4, 8.5), Place(40.4, -3.7), Place(-33.9, 151.2)
SITES = (SitePlace("madrid", MADRID), SitePlace("sydney", SYDNEY), SitePlace("zurich", ZURICH))


class FakeClock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "cities.mmdb"
    entries = [
        GeoipEntry("192.0.2.0/24", 48.0, 9.0, "DE"),
        GeoipEntry("192.0.2.128/25", 41.0, -4.0, "ES"),
        GeoipEntry("198.51.100.7/32", 95.0, 0.0, "XX"),
        GeoipEntry("2001:db8::/32", -34.0, 151.0, "AU"),
    ]
    write_geoip_file(path, entries)
    with GeoDatabase(path) as opened:
        yield opened


def test_addresses_have_places(database):
    assert database.find_place("192.0.2.1") == (Place(48.0, 9.0), "de")
    assert database.find_place("192.0.2.200") == (Place(41.0, -4.0), "es")
    assert database.find_place("::ffff:192.0.2.1") == (Place(48.0, 9.0), "de")
    assert database.find_place("2001:db8:5::1") == (Place(-34.0, 151.0), "au")


@pytest.mark.parametrize("address", ["203.0.113.1", "198.51.100.7", "2002::1", "example.org", "", "300.1.1.1"])
def test_addresses_without_places(database, address):
    assert database.find_place(address) is None


def test_regions_of_the_fake_web_have_places(tmp_path):
    web = FakeWeb(FakeWebPlan(hosts=12, pages=60, trouble=("trap",), regions=FAKE_REGIONS))
    web.write_geoip_file(tmp_path / "fake.mmdb")
    languages = {page.url.split("/")[2]: page.language for page in web.truth().pages}
    with GeoDatabase(tmp_path / "fake.mmdb") as opened:
        for host, address in web.hosts:
            region = web.region_of(host)
            assert opened.find_place(address) == ((region.latitude, region.longitude), region.country.lower())
            assert languages.get(host, region.language) == region.language
    assert len({address for _, address in web.hosts}) == len(web.hosts)


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"\xab\xcd\xefMaxMind.com", os.urandom(2000)], ids=len)
def test_what_is_not_a_database_is_an_error(tmp_path, data):
    path = tmp_path / "bad.mmdb"
    path.write_bytes(data)
    with pytest.raises(BadFile, match=r"bad\.mmdb is not a GeoIP database"):
        GeoDatabase(path)
    with pytest.raises(BadFile, match="There is no GeoIP database"):
        GeoDatabase(tmp_path / "none.mmdb")


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_database_is_an_error_or_an_answer(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / "damaged.mmdb"
    write_geoip_file(path, [GeoipEntry(f"10.{n}.0.0/16", n / 10, n / 5, "DE") for n in range(20)])
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    del raw[data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw)))) :]
    path.write_bytes(raw)
    with contextlib.suppress(BadFile), GeoDatabase(path) as opened:
        for number in range(20):
            found = opened.find_place(f"10.{number}.0.1")
            assert found is None or (abs(found.place.latitude) <= 90 and abs(found.place.longitude) <= 180)


def test_locator_answers_later_and_never_waits(database):
    asked = []

    def resolve(host):
        asked.append(host)
        return {"a.example": ["192.0.2.1"], "b.example": ["203.0.113.1", "192.0.2.200"]}.get(host, [])

    with HostLocator(database, resolve, threads=1) as locator:
        hosts = ("a.example", "b.example", "nowhere.example", "192.0.2.5")
        assert [locator.find(host) for host in hosts] == [None] * 4
        while not locator.is_idle():
            pass
        found = [locator.find(host) for host in hosts]
    assert [where.place for where in found] == [Place(48.0, 9.0), Place(41.0, -4.0), None, Place(48.0, 9.0)]
    assert [where.network for where in found] == ["192.0.2.0/24", "192.0.2.0/24", "", "192.0.2.0/24"]
    assert sorted(asked) == ["a.example", "b.example", "nowhere.example"]


def test_locator_is_bounded_and_forgets(database):
    clock, asked = FakeClock(), []

    def resolve(host):
        asked.append(host)
        return ["192.0.2.1"] if host == "a" else []

    locator = HostLocator(database, resolve, threads=0, max_hosts=2, lifetime=100, retry=10, clock=clock)
    assert locator.find("a").place
    assert locator.find("b").place is None
    clock.now += 50
    locator.find("a"), locator.find("b")
    assert asked == ["a", "b", "b"]
    locator.find("c"), locator.find("a")
    assert asked == ["a", "b", "b", "c", "a"]


def test_locator_does_not_queue_without_bound(database):
    locator = HostLocator(database, threads=1, max_waiting=1)
    locator.close()
    for thread in locator._threads:
        thread.join()
    while not locator._waiting.empty():
        locator._waiting.get()
    assert [locator.find(f"h{n}") for n in range(3)] == [None, LocatedHost(), LocatedHost()]


def _partitioner(located, clock=None, round_trips=None, sites=SITES, **options):
    return GeographicPartitioner(sites, located.get, round_trips, clock=clock or FakeClock(), **options)


def test_hosts_go_to_the_nearest_site_and_others_by_hash():
    located = {"de": LocatedHost(Place(50.1, 8.7)), "nz": LocatedHost(Place(-36.8, 174.8)), "unknown": LocatedHost()}
    partitioner = _partitioner(located)
    assert partitioner.owner("de") == "zurich"
    assert partitioner.explain("de").reason == "distance"
    assert partitioner.owner("nz") == "sydney"
    assert partitioner.owner("unknown") in partitioner.sites
    assert partitioner.explain("unknown").reason == "hash"
    assert partitioner.number("de") == 2
    assert partitioner.settled_owner("later") is None
    assert partitioner.owner("later") == _partitioner({}).owner("later")
    assert partitioner.explain("later") is None


def test_sites_at_one_place_share_hosts_by_hash():
    sites = (SitePlace("a", ZURICH), SitePlace("b", Place(47.5, 8.6)), SitePlace("far", SYDNEY))
    located = {f"h{n}.site{n}.example": LocatedHost(Place(47.4, 8.5)) for n in range(60)}
    owners = [_partitioner(located, sites=sites).owner(host) for host in located]
    assert set(owners) == {"a", "b"}
    assert 15 < owners.count("a") < 45
    assert owners == [_partitioner(located, sites=sites[::-1]).owner(host) for host in located]


def test_sites_without_places_share_hosts_by_hash():
    sites = [SitePlace(name) for name in "abc"]
    located = {f"h{n}.site{n}.example": LocatedHost(ZURICH) for n in range(60)}
    partitioner = _partitioner(located, sites=sites)
    assert {partitioner.owner(host) for host in located} == set("abc")


def test_measured_times_decide_if_the_nearest_site_has_measured():
    table = RoundTripTable([site.name for site in SITES], "zurich")
    located = {"cdn": LocatedHost(ZURICH, network="192.0.2.0/24"), "other": LocatedHost(network="198.51.100.0/24")}
    partitioner = _partitioner(located, round_trips=table)
    table.accept("madrid", RoundTripReport("madrid", {"192.0.2.0/24": 3.0, "198.51.100.0/24": 9.0}))
    assert partitioner.owner("cdn") == "zurich"
    assert partitioner.explain("other") is None
    assert _partitioner(located, round_trips=table).settled_owner("other")
    table.measure("192.0.2.77", 80.0)
    table.measure("192.0.2.78", 60.0)
    table.measure("198.51.100.1", 4.0)
    again = _partitioner(located, round_trips=table)
    assert (again.owner("cdn"), again.explain("cdn").reason) == ("madrid", "time")
    assert (again.owner("other"), again.explain("other").reason) == ("zurich", "time")
    assert table.report().times == {"192.0.2.0/24": 60.0, "198.51.100.0/24": 4.0}


@pytest.mark.parametrize(
    ("sender", "report"),
    [
        ("madrid", RoundTripReport("sydney", {})),
        ("zurich", RoundTripReport("zurich", {})),
        ("nobody", RoundTripReport("nobody", {})),
        ("madrid", RoundTripReport("madrid", {"192.0.2.0/24": math.nan})),
        ("madrid", RoundTripReport("madrid", {"192.0.2.0/24": -1.0})),
        ("madrid", RoundTripReport("madrid", {"192.0.2.0/24": 1e9})),
        ("madrid", RoundTripReport("madrid", {"192.0.2.1/24": 1.0})),
        ("madrid", RoundTripReport("madrid", {"x" * 1000: 1.0})),
        ("madrid", RoundTripReport("madrid", {f"10.0.{n}.0/24": 1.0 for n in range(11)})),
    ],
)
def test_reports_that_cannot_be_right_are_refused(sender, report):
    table = RoundTripTable([site.name for site in SITES], "zurich", max_networks=10)
    table.accept("madrid", RoundTripReport("madrid", {"10.0.0.0/24": 5.0}))
    with pytest.raises(BadInput):
        table.accept(sender, report)
    assert table.times(["madrid"], ["10.0.0.0/24"]).tolist() == [[5.0]]


def test_own_times_are_bounded():
    table = RoundTripTable(["zurich"], "zurich", max_networks=3)
    for number in range(10):
        table.measure(f"10.0.{number}.1", 1.0 + number)
        table.measure("not an address", 1.0)
        table.measure("10.9.9.9", math.inf)
    assert list(table.report().times) == ["10.0.7.0/24", "10.0.8.0/24", "10.0.9.0/24"]


def test_hosts_do_not_wander():
    clock = FakeClock()
    located = {"host": LocatedHost(Place(47.0, 8.0))}
    partitioner = _partitioner(located, clock)
    assert partitioner.owner("host") == "zurich"
    located["host"] = LocatedHost(Place(44.0, 2.0))  # between the two, a little nearer to Madrid
    for _ in range(20):
        clock.now += DAY
        assert partitioner.review() == []
    located["host"] = LocatedHost(Place(41.0, -3.0))
    assert partitioner.review() == []
    clock.now += DAY / 2
    assert partitioner.review() == []
    located["host"] = LocatedHost(Place(47.0, 8.0))  # it was a mistake
    clock.now += DAY
    assert partitioner.review() == []
    located["host"] = LocatedHost(Place(41.0, -3.0))
    assert partitioner.review() == []
    clock.now += 1.1 * DAY
    assert partitioner.review() == [("host", "zurich", "madrid", "distance")]
    assert partitioner.owner("host") == "madrid"
    located["host"] = LocatedHost(Place(47.0, 8.0))
    moves = []
    for _ in range(6):
        clock.now += DAY
        moves += partitioner.review()
    assert moves == []  # not again within a week
    clock.now += 2 * DAY
    assert [move.after for move in partitioner.review()] == ["zurich"]


def test_hosts_of_a_site_that_leaves_move_at_once_within_a_bound():
    located = {f"h{n}.site{n}.example": LocatedHost(Place(47.0, 8.0)) for n in range(30)}
    partitioner = _partitioner(located)
    assert {partitioner.owner(host) for host in located} == {"zurich"}
    partitioner.update_sites(SITES[:2])
    assert partitioner.owner("h0.site0.example") == "madrid"
    first, second = partitioner.review(max_moves=20), partitioner.review(max_moves=20)
    assert (len(first), len(second)) == (20, 9)
    assert {move.after for move in first + second} == {"madrid"}
    assert partitioner.review() == []


def test_a_new_site_takes_the_hosts_near_it():
    clock = FakeClock()
    located = {"au": LocatedHost(Place(-37.8, 145.0)), "de": LocatedHost(Place(50.0, 8.0))}
    partitioner = _partitioner(located, clock, sites=(SITES[0], SITES[2]))
    before = {host: partitioner.owner(host) for host in located}
    partitioner.update_sites(SITES)
    clock.now += 8 * DAY
    assert partitioner.review() == []
    clock.now += 1.1 * DAY
    assert [(move.host, move.after) for move in partitioner.review()] == [("au", "sydney")]
    assert partitioner.owner("de") == before["de"]


def test_the_choice_of_another_site_is_accepted_once():
    located = {"host": LocatedHost(Place(47.0, 8.0))}
    partitioner = _partitioner(located)
    partitioner.assign("host", "nobody")
    partitioner.assign("host", "madrid")
    partitioner.assign("host", "sydney")
    assert partitioner.owner("host") == "madrid"
    assert partitioner.explain("host").reason == "sender"


def test_the_table_of_owners_is_bounded():
    located = {f"h{n}": LocatedHost(Place(47.0, 8.0)) for n in range(20)}
    partitioner = _partitioner(located, max_hosts=5)
    assert {partitioner.owner(host) for host in located} == {"zurich"}
    assert len(partitioner.owners()) == 5


@pytest.mark.parametrize("names", [[], ["a", "a"], [f"s{n}" for n in range(65)]])
def test_sites_are_distinct_and_bounded(names):
    with pytest.raises(BadInput):
        GeographicPartitioner([SitePlace(name) for name in names], lambda host: None)


@given(st.dictionaries(st.from_regex(r"[a-zà-ü.-]{1,20}", fullmatch=True), st.sampled_from("abc"), max_size=20))
def test_owners_are_restored(tmp_path_factory, owners):
    path = tmp_path_factory.mktemp("owners") / "host-owners.arrays"
    reasons = itertools.cycle(("hash", "distance", "time", "sender"))
    table = {host: HostOwner(site, next(reasons), 5.0) for host, site in owners.items()}
    write_host_owners(path, table)
    assert read_host_owners(path) == table
    partitioner = _partitioner({}, sites=[SitePlace(name) for name in "abc"])
    partitioner.restore(read_host_owners(path))
    assert partitioner.owners() == table


def test_damaged_owners_are_an_error(tmp_path):
    path = tmp_path / "host-owners.arrays"
    assert read_host_owners(path) == {}
    write_host_owners(path, {"host": HostOwner("a", "hash", 1.0)})
    raw = bytearray(path.read_bytes())
    raw[-70] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CorruptFile):
        read_host_owners(path)
