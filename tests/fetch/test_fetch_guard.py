"""No request leaves for an address that the operator did not allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import SettingsError
from periplus.fetch import AddressGuard, Fetcher, HostsFile
from periplus.records import Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address

FORBIDDEN = [
    "127.0.0.1",
    "10.1.2.3",
    "192.168.0.1",
    "172.16.5.5",
    "169.254.169.254",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "100.64.0.1",
    "240.0.0.1",
    "192.0.2.1",
    "198.18.0.1",
    "::1",
    "::",
    "fe80::1",
    "fc00::1",
    "ff02::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "::127.0.0.1",
    "2001:db8::1",
    "fe80::1%eth0",
    "garbage",
]


@pytest.mark.parametrize("ip", FORBIDDEN)
def test_private_addresses_are_refused(ip):
    assert not AddressGuard().permits(ip)


@pytest.mark.parametrize("ip", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_permitted(ip):
    assert AddressGuard().permits(ip)


def test_allowed_ranges_open_just_what_they_say():
    guard = AddressGuard(("127.10.0.0/16", "::1"))
    assert guard.permits("127.10.3.4")
    assert guard.permits("::ffff:127.10.3.4")
    assert guard.permits("::1")
    assert not guard.permits("127.11.0.1")
    assert not guard.permits("10.0.0.1")


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_no_private_address_in_any_dress(ip):
    low = int(ip)
    for dress in (f"{ip}", f"::ffff:{ip}", f"64:ff9b::{low >> 16:x}:{low & 0xFFFF:x}", f"2002:{low >> 16:x}:0::"):
        if dress.startswith("2002"):
            dress = f"2002:{low >> 16:x}:{low & 0xFFFF:x}::1"
        assert not AddressGuard().permits(dress)


def test_a_bad_range_is_a_settings_error():
    with pytest.raises(SettingsError, match=r"fetch\.allow.*elephants"):
        Fetcher(FetchSettings(allow=("elephants",)))


def test_the_guard_stands_at_every_connection(peer, get):
    fetched = get(peer.url(), allow=())
    assert fetched.outcome is Outcome.FORBIDDEN_ADDRESS
    assert "127.0.0.1" in fetched.error
    assert peer.connections == 0
    assert get(f"http://0x7f.1:{peer.port}/", allow=()).outcome is Outcome.FORBIDDEN_ADDRESS
    assert get(f"http://localhost:{peer.port}/", allow=()).outcome is Outcome.FORBIDDEN_ADDRESS


def test_the_hosts_file_leads_names_to_addresses(peer, get, tmp_path):
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    hosts = tmp_path / "hosts"
    hosts.write_text(f"# a test web\n127.0.0.1:{peer.port} One.test two.test # both\n\n[::1]:80 six.test\n")
    for name in ("one.test", "two.test"):
        assert get(f"http://{name}/", hosts_file=str(hosts)).body == b"hi"
        assert f"Host: {name}\r\n" in peer.requests[-1]
    assert get("http://one.test/", hosts_file=str(hosts), allow=()).outcome is Outcome.FORBIDDEN_ADDRESS
    assert HostsFile.read(hosts).route(parse_address("http://six.test:81/")) == "six.test:81:[::1]:80"
    assert HostsFile.read(hosts).route(parse_address("http://seven.test/")) is None


@pytest.mark.parametrize(
    "line", ["127.0.0.1", "localhost a.test", "127.0.0.1:99999 a.test", "1.2.3.4: a b]c", "[::1 x"]
)
def test_a_bad_hosts_line_is_named(tmp_path, line):
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 fine.test\n{line}\n")
    with pytest.raises(SettingsError, match=r"hosts, line 2"):
        HostsFile.read(hosts)


def test_a_missing_hosts_file_is_named(tmp_path):
    with pytest.raises(SettingsError, match="nowhere"):
        Fetcher(FetchSettings(hosts_file=str(tmp_path / "nowhere")))
