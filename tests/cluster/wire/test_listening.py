"""Where the servers of a node listen."""

import socket

import pytest

from periplus.cluster import ClusterKey
from periplus.cluster.wire.listening import choose_port, is_wildcard
from periplus.cluster.wire.message_server import MessageServer
from periplus.errors import PortInUse
from periplus.settings import ClusterSettings


def test_ports_are_those_of_the_settings() -> None:
    assert choose_port("127.0.0.1", ClusterSettings()) == 0
    with socket.create_server(("127.0.0.1", 0)) as first:
        number = first.getsockname()[1]
        with pytest.raises(PortInUse, match=str(number)):
            choose_port("127.0.0.1", ClusterSettings(first_port=number, ports=1))
    assert choose_port("127.0.0.1", ClusterSettings(first_port=number, ports=1)) == number


@pytest.mark.parametrize(("host", "expected"), [("0.0.0.0", True), ("::", True), ("", True), ("10.0.0.1", False)])
def test_an_address_of_all_is_no_address_to_connect_to(host: str, expected: bool) -> None:
    assert is_wildcard(host) is expected


def test_a_server_listens_on_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = MessageServer(("::1", 0), ClusterKey(bytes(32)), lambda request: request.body)
    server.start()
    assert server.address[0] == "::1"
    server.close()
