"""Kept answers: admitted by frequency, bounded by bytes, gone with the index they came from."""

import asyncio
import gzip
import random
import threading
from collections import OrderedDict

import pytest
from asgi_caller import call, get
from fake_searcher import FakeSearcher, hit

from periplus.errors import CorruptFile
from periplus.records import Query, ResultPage
from periplus.serve import ResponseCache, make_app
from periplus.serve.response_cache import FrequencySketch
from periplus.settings import ServeSettings


def put(cache: ResponseCache, key: str, size: int = 1000) -> bool:
    cache.put(key, 200, (), b"x" * size, cache.epoch)
    return key in cache._entries


def test_bytes_are_bounded_and_counted() -> None:
    cache = ResponseCache(100_000)
    for n in range(1000):
        cache.get(str(n))
        put(cache, str(n), n)
        assert cache.bytes <= 100_000
    assert cache.evicted + cache.refused > 0
    assert not put(cache, "huge", 50_000), "one answer may not take it all"
    cache.clear()
    assert (cache.bytes, len(cache)) == (0, 0)


@pytest.mark.parametrize("seed", range(10))
def test_what_comes_often_outlives_a_flood(seed: int) -> None:
    """The keys are numbers, whose hashes are the same in every run: the sketch may err for a few of any 2,020 keys."""
    numbers = random.Random(seed)
    often, once = ([numbers.getrandbits(60) for _ in range(n)] for n in (20, 2000))
    cache = ResponseCache(64_000)
    for key in (*often * 20, *once):
        if cache.get(key) is None:
            cache.put(key, 200, (), b"x" * 1000, cache.epoch)
    assert sum(cache.get(key) is not None for key in often) >= 17


def test_it_beats_plain_recency_on_a_zipf_log() -> None:
    random.seed(7)
    log = random.choices(range(5000), [1 / n for n in range(1, 5001)], k=20_000)
    cache, recent, hits = ResponseCache(160_000), OrderedDict[int, bool](), 0
    for n in log:
        if cache.get(n) is None:
            cache.put(n, 200, (), b"x" * 1000, cache.epoch)
        if n in recent:
            hits += 1
            recent.move_to_end(n)
        else:
            recent[n] = True
            if len(recent) > 100:
                recent.popitem(last=False)
    assert cache.hits > 1.05 * hits


def test_a_response_of_an_older_index_is_not_cached() -> None:
    cache = ResponseCache(100_000)
    epoch = cache.epoch
    cache.clear()
    cache.put("late", 200, (), b"x", epoch)
    assert cache.get("late") is None


def test_answers_grow_stale() -> None:
    cache = ResponseCache(100_000, seconds=-1.0)
    put(cache, "a")
    assert cache.get("a") is None


def test_the_sketch_never_counts_too_few_and_forgets() -> None:
    sketch = FrequencySketch(256)
    for _ in range(40):
        sketch.add(12345)
    assert sketch.count(12345) >= 40
    for n in range(5000):
        sketch.add(hash(str(n)) & (1 << 64) - 1)
    assert sketch.count(12345) < 40


class Changing(FakeSearcher):
    """An index that changes when it is told to."""

    changed = False

    def refresh(self) -> bool:
        changed, self.changed = self.changed, False
        return changed


def test_a_commit_empties_the_cache_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.serve.search_executor._REFRESH_SECONDS", 0.0)
    searcher = Changing()
    app = make_app(searcher, ServeSettings(threads=1))

    async def story() -> None:
        for _ in range(3):
            await call(app, "/api/search?q=salt")
        assert len(searcher.asked) == 1
        searcher.changed = True
        await call(app, "/api/search?q=other")  # whatever reaches the searcher notices the commit
        searcher.total = 5
        assert (await call(app, "/api/search?q=salt")).json["number_of_results"] == 5

    asyncio.run(story())


def test_cached_responses_are_identical_and_errors_are_not_cached() -> None:
    searcher = FakeSearcher()
    app = make_app(searcher, ServeSettings(threads=1))
    first, second = get(app, "/search?q=salt"), get(app, "/search?q=salt")
    assert first == second
    assert len(searcher.asked) == 1
    assert get(app, "/search?q=salt", "HEAD").body == b""
    assert get(app, "/search?q=salt", headers={"accept": "application/json"}).json["query"] == "salt"
    assert "Ergebnisse" in get(app, "/search?q=salt", headers={"accept-language": "de"}).text
    for _ in range(2):
        assert get(app, "/api/search?q=").status == 400
    metrics = get(app, "/metrics").text
    assert "periplus_cache_hits_total 2" in metrics


def test_many_who_ask_the_same_at_once_get_one_answer() -> None:
    let_go = threading.Event()

    def hold(query: Query) -> ResultPage:
        let_go.wait(60)
        return ResultPage(query, (hit(0, query),), 1, True, False, 0.0, 1)

    searcher = FakeSearcher(answer=hold)
    app = make_app(searcher, ServeSettings(threads=2, max_waiting=1, cache_mb=0))

    async def story() -> list[int]:
        tasks = [asyncio.create_task(call(app, "/search?q=salt")) for _ in range(50)]
        while not searcher.asked:
            await asyncio.sleep(0.001)
        let_go.set()
        return [(await task).status for task in tasks]

    assert asyncio.run(story()) == [200] * 50
    assert len(searcher.asked) == 1


def test_a_failure_is_not_shared_with_concurrent_requests() -> None:
    def fail(query: Query) -> ResultPage:
        raise CorruptFile("x")

    searcher = FakeSearcher(answer=fail)
    app = make_app(searcher, ServeSettings(threads=1))

    async def story() -> list[int]:
        return [answer.status for answer in await asyncio.gather(*(call(app, "/search?q=salt") for _ in range(5)))]

    assert asyncio.run(story()) == [503] * 5
    assert len(searcher.asked) == 5


def test_cached_responses_are_compressed_and_have_etags() -> None:
    searcher = FakeSearcher()
    app = make_app(searcher, ServeSettings(threads=1))
    plain = get(app, "/search?q=salt")
    packed = get(app, "/search?q=salt", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(packed.body) < len(plain.body) / 2
    assert gzip.decompress(packed.body) == plain.body
    assert "accept-encoding" in plain.headers["vary"]
    tag = plain.headers["etag"]
    assert packed.headers["etag"] == tag
    again = get(app, "/search?q=salt", headers={"if-none-match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert get(app, "/search?q=salt", headers={"if-none-match": 'W/"0"'}).status == 200
    assert len(searcher.asked) == 1
    small = get(app, "/suggest?q=zz", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in small.headers, "not worth it"


def test_feeds_contain_the_requested_address() -> None:
    app = make_app(FakeSearcher(), ServeSettings(threads=1))
    for host in ("127.0.0.1:8080", "localhost:1"):
        feed = get(app, "/search?q=salt&format=rss", headers={"host": host}).text
        assert f"<link>http://{host}/search?q=salt</link>" in feed
