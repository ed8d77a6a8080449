"""All transfers of a fetcher together stay within the bandwidth limit."""

import gzip
import time

import pytest

from periplus.fetch import Fetcher
from periplus.fetch.bandwidth import TokenBucket, concurrent_transfers, receive_buffer
from periplus.records import FetchRequest, Outcome
from periplus.settings import FetchSettings
from periplus.url import parse_address


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_bucket_allows_the_rate_and_a_short_burst():
    clock = Clock()
    bucket = TokenBucket(1_000_000, clock)
    assert bucket.wait() == 0
    bucket.deduct(500_000)
    assert bucket.wait() == pytest.approx(0.5)
    clock.now += 0.5
    assert bucket.wait() == 0
    clock.now += 3_600  # what was not used for an hour is not saved up
    assert bucket.wait() == 0
    bucket.deduct(1_250_000)
    assert bucket.wait() == pytest.approx(1.0)
    assert bucket.received == 1_750_000


def test_few_transfers_share_a_small_bandwidth():
    assert concurrent_transfers(1_000, 64) == 1
    assert concurrent_transfers(125_000, 64) == 3
    assert concurrent_transfers(100_000_000, 64) == 64
    assert receive_buffer(125_000, 3) == 41_666
    assert receive_buffer(1_000, 1) == 8_192
    assert receive_buffer(1e9, 1) == 262_144


def fetch_all(fetcher, urls):
    """Fetch all URLs as a crawl does: no more are started while the fetcher is full."""
    waiting, results = list(urls), []
    while waiting or fetcher.busy():
        while waiting and not fetcher.is_full():
            fetcher.start(FetchRequest(parse_address(waiting.pop())))
        results += fetcher.poll(0.2)
    return results


@pytest.fixture
def fetcher():
    opened = []

    def open_fetcher(bandwidth, **more):
        settings = FetchSettings(allow=("127.0.0.0/8",), connections=16, **more)
        opened.append(Fetcher(settings, bandwidth=bandwidth))
        return opened[-1]

    yield open_fetcher
    for each in opened:
        each.close()


@pytest.mark.parametrize(("size", "pages"), [(20_000, 60), (1_200_000, 1)])
def test_the_average_stays_within_the_limit(peer, fetcher, size, pages):
    """A slow machine can only be slower: the time is a lower bound."""
    rate = 2_000_000  # bytes per second
    body = b"x" * size
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (size, body)
    limited = fetcher(rate)
    began = time.monotonic()
    results = fetch_all(limited, [peer.url()] * pages)
    seconds = time.monotonic() - began
    assert [result.outcome for result in results] == [Outcome.OK] * pages
    assert all(result.body == body for result in results)
    assert size * pages / seconds <= rate * 1.1
    assert size * pages <= limited._bucket.received <= size * pages + 1_000 * pages


def test_requests_on_connections_that_were_fast_go_on(peer, fetcher):
    """No timer of libcurl is due within the test: what waited for one would never end."""
    body = b"x" * 20_000
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for _ in range(4):
        limited = fetcher(8_000_000, connect_timeout=3_600, timeout=3_600, slow_seconds=3_600)
        urls, ended = [peer.url()] * 100, []
        latest = time.monotonic() + 60
        while len(ended) < 100:
            while urls and not limited.is_full():
                limited.start(FetchRequest(parse_address(urls.pop())))
            ended += limited.poll(0.2)
            assert time.monotonic() < latest, f"{limited.busy()} requests wait for nothing"


def test_compressed_bytes_count_as_received(peer, fetcher):
    body = gzip.compress(b"word " * 200_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    peer.answers["/"] = head + body
    limited = fetcher(10_000_000)
    (result,) = fetch_all(limited, [peer.url()])
    assert len(result.body) == 1_000_000
    assert limited._bucket.received == len(head) + len(body)


def test_without_a_limit_nothing_is_counted(peer, fetcher):
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    unlimited = fetcher(0)
    fetch_all(unlimited, [peer.url()] * 3)
    assert unlimited.bandwidth_wait() == 0
    assert not unlimited.is_full()
