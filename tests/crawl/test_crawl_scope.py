"""The scope of a crawl with many seeds."""

import random

import pytest

from periplus.crawl.outlinks import OutlinkExtractor
from periplus.crawl.policies.crawl_scope import CrawlScope
from periplus.settings import CrawlSettings
from periplus.url import parse_address

HOSTS = [f"{sub}{name}.{end}" for sub in ("", "www.", "a.b.") for name in "pqrstu" for end in ("test", "co.uk", "com")]


def is_in_scope(address, seeds, scope: str) -> bool:
    """Compare an address with every seed."""
    same = {
        "host": lambda seed: address.host == seed.host,
        "domain": lambda seed: address.domain == seed.domain,
        "web": lambda seed: True,
    }
    return any(same[scope](seed) for seed in seeds)


@pytest.mark.parametrize("scope", ["host", "domain", "web"])
def test_a_scope_is_that_of_any_of_its_seeds(scope):
    chance = random.Random(scope)
    addresses = [parse_address(f"http://{host}/x") for host in HOSTS]
    crawl, seeds = CrawlScope(scope), []
    assert not any(crawl.includes(address) for address in addresses)
    for _ in range(8):
        seed = chance.choice(addresses)
        grown = not is_in_scope(seed, seeds, scope)
        assert crawl.add(seed) is grown
        seeds.append(seed)
        assert [crawl.includes(one) for one in addresses] == [is_in_scope(one, seeds, scope) for one in addresses]


def test_a_wrong_scope_is_refused():
    with pytest.raises(ValueError, match="planet"):
        CrawlScope("planet")


def test_a_link_seen_out_of_scope_is_followed_once_a_seed_makes_the_scope_larger():
    outlinks = OutlinkExtractor(CrawlSettings(scope="host"), [parse_address("http://a.test/")])
    lists = ["http://b.test/sitemap.xml"]
    assert not outlinks.list_requests(lists, "http://a.test/")
    outlinks.add_seed(parse_address("http://b.test/"))
    assert [request.address.url for request in outlinks.list_requests(lists, "http://a.test/")] == lists
