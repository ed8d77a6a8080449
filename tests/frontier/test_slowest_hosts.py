"""The slowest hosts, beside a look at all of them."""

import random
from heapq import nlargest

from periplus.frontier.frontier import Frontier
from periplus.frontier.frontier_statistics import SlowestHosts
from periplus.frontier.host import Host
from periplus.frontier.host_states import HostState
from periplus.records import FetchRequest, Outcome
from periplus.settings import FrontierSettings
from periplus.url import parse_address


class CountedHosts(dict):
    """Counts how often all hosts are looked at."""

    scans = 0

    def items(self):
        self.scans += 1
        return super().items()


def test_the_slowest_are_those_of_a_look_at_all_hosts():
    chance = random.Random(7)
    hosts = CountedHosts((name, Host(name, HostState.EMPTY, 0.0)) for name in map(str, range(5_000)))
    slowest = SlowestHosts(hosts)
    for step in range(20_000):
        name = str(chance.randrange(5_000))
        if step % 997 == 0 and name in hosts:
            del hosts[name]
        if name in hosts:
            hosts[name].elapsed = chance.expovariate(1.0)
            slowest.update(hosts[name])
        if step % 10 == 0:
            found = [seconds for _, seconds in slowest.top(3)]
            assert found == nlargest(3, (host.elapsed for host in hosts.values()))
    assert hosts.scans < 30, "2,000 answers need few looks at all hosts"


def test_slow_hosts_that_become_fast_make_room():
    hosts = CountedHosts((name, Host(name, HostState.EMPTY, 0.0)) for name in map(str, range(3_000)))
    slowest = SlowestHosts(hosts)
    for number, host in enumerate(hosts.values()):
        host.elapsed = 1.0 + number
        slowest.update(host)
    for host in reversed(list(hosts.values())):
        host.elapsed = 0.5
        slowest.update(host)
        assert slowest.top(1)[0][1] == max(other.elapsed for other in hosts.values())


def test_a_frontier_knows_its_slowest_hosts_after_a_restart():
    frontier = Frontier(FrontierSettings(delay=0.0))
    frontier.add([FetchRequest(parse_address(f"http://h{number}.test/")) for number in range(5)])
    for number in range(5):
        request = frontier.next(10.0 * number)
        frontier.done(request, Outcome.OK, 10.0 * number, float(request.address.host[1]))
    expected = [("h4.test", 4.0), ("h3.test", 3.0)]
    assert frontier.slowest.top(2) == expected
    assert Frontier.load(frontier.dump(), FrontierSettings()).slowest.top(2) == expected
