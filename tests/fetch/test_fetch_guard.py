"""No request leaves for an address that the operator did not allow."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import SettingsError
from periplus.fetch import AddressGuard, Fetcher, HostsFile
from periplus.records import Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address

FORBIDDEN_NETWORKS = {
    # The IANA registries of special-purpose addresses, RFC 6890 and later; whatever they say of reachability.
    "this network": "0.0.0.0/8",
    "private, class A": "10.0.0.0/8",
    "shared address space": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link-local": "169.254.0.0/16",
    "private, class B": "172.16.0.0/12",
    "IETF protocol assignments": "192.0.0.0/24",
    "service continuity": "192.0.0.0/29",
    "dummy address": "192.0.0.8/32",
    "port control protocol anycast": "192.0.0.9/32",
    "TURN anycast": "192.0.0.10/32",
    "NAT64 discovery": "192.0.0.170/31",
    "documentation 1": "192.0.2.0/24",
    "AS112 v4": "192.31.196.0/24",
    "AMT": "192.52.193.0/24",
    "6to4 relays": "192.88.99.0/24",
    "6a44 relay": "192.88.99.2/32",
    "private, class C": "192.168.0.0/16",
    "direct delegation AS112": "192.175.48.0/24",
    "benchmarks": "198.18.0.0/15",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "broadcast": "255.255.255.255/32",
    "unspecified v6": "::/128",
    "loopback v6": "::1/128",
    "NAT64 of a private network": "64:ff9b:1::/48",
    "IPv4-translated": "::ffff:0:0:0/96",
    "discard": "100::/64",
    "dummy prefix": "100:0:0:1::/64",
    "IETF protocol assignments v6": "2001::/23",
    "Teredo": "2001::/32",
    "port control protocol anycast v6": "2001:1::1/128",
    "TURN anycast v6": "2001:1::2/128",
    "DNS-SD anycast": "2001:1::3/128",
    "benchmarks v6": "2001:2::/48",
    "AMT v6": "2001:3::/32",
    "AS112 v6": "2001:4:112::/48",
    "ORCHID": "2001:10::/28",
    "ORCHID 2": "2001:20::/28",
    "drone remote identifiers": "2001:30::/28",
    "documentation v6": "2001:db8::/32",
    "direct delegation AS112 v6": "2620:4f:8000::/48",
    "6bone": "3ffe::/16",
    "documentation v6, large": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local": "fc00::/7",
    "link-local v6": "fe80::/10",
    "site-local, deprecated": "fec0::/10",
    "multicast v6": "ff00::/8",
    "not assigned": "4000::/3",
    "not assigned, below": "1000::/4",
    # Metadata services, wire servers and credentials of clouds.
    "most clouds": "169.254.169.254/32",
    "containers of a cloud": "169.254.170.2/32",
    "pods of a cloud": "169.254.170.23/32",
    "time server of a cloud": "169.254.169.123/32",
    "wire server": "168.63.129.16/32",
    "metadata in shared space": "100.100.100.200/32",
    "metadata in assignments": "192.0.0.192/32",
    "metadata, unique local 1": "fd00:ec2::254/128",
    "metadata, unique local 2": "fd20:ce::254/128",
    "metadata, unique local 3": "fd00:42::42/128",
    "metadata, link-local v6": "fe80::a9fe:a9fe/128",
}


@pytest.mark.parametrize("network", FORBIDDEN_NETWORKS.values(), ids=FORBIDDEN_NETWORKS.keys())
def test_special_networks_are_refused_in_every_notation(network):
    subnet = ipaddress.ip_network(network)
    guard = AddressGuard()
    for ip in {subnet[0], subnet[-1], subnet[subnet.num_addresses // 2]}:
        for text in _notations(ip):
            assert not guard.permits(text), text


def _notations(ip):
    """Return an address, and the IPv6 addresses that embed it if it is an IPv4 address."""
    if ip.version == 6:
        return [str(ip), f"{ip}%eth0", ip.exploded]
    low = int(ip)
    high, rest = low >> 16, low & 0xFFFF
    return [
        str(ip),
        f"::ffff:{ip}",
        f"::{ip}",
        f"::ffff:0:{ip}",
        f"64:ff9b::{ip}",
        f"64:ff9b:1::{ip}",
        f"2002:{high:x}:{rest:x}::1",
        f"2001:0:{high:x}:{rest:x}::1",
        f"2001:0:0808:0808:0:0:{high ^ 0xFFFF:x}:{rest ^ 0xFFFF:x}",
        f"2606:4700::5efe:{high:x}:{rest:x}",
        f"2606:4700::200:5efe:{high:x}:{rest:x}",
    ]


@pytest.mark.parametrize("text", ["", "garbage", "127.1", "0177.0.0.1", "0x7f000001", "2130706433", "[::1]", "::1/128"])
def test_what_is_not_an_address_is_refused(text):
    assert not AddressGuard().permits(text)


@pytest.mark.parametrize(
    "ip",
    [
        "8.8.8.8",
        "93.184.216.34",
        "168.63.129.15",
        "168.63.129.17",
        "192.88.98.255",
        "192.88.100.0",
        "100.63.255.255",
        "100.128.0.0",
        "2001:200::1",
        "2606:4700::1111",
        "2606:4700::5efe:808:808",
        "3ffd:ffff::1",
        "3fff:1000::1",
        "2a00:1450:4001:80b::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ],
)
def test_public_addresses_are_permitted(ip):
    assert AddressGuard().permits(ip)


def test_allowed_ranges_open_just_what_they_say():
    guard = AddressGuard(("127.10.0.0/16", "::1"))
    assert guard.permits("127.10.3.4")
    assert guard.permits("::ffff:127.10.3.4")
    assert guard.permits("::1")
    assert not guard.permits("127.11.0.1")
    assert not guard.permits("10.0.0.1")
    assert AddressGuard(("64:ff9b:1::/48",)).permits("64:ff9b:1::10.0.0.1")
    assert not AddressGuard(("::/0",)).permits("::ffff:10.0.0.1")


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
