"""What people see of a crawl while it runs."""

from periplus.cli.crawl_view import crawl_block, format_errors
from periplus.crawl import CrawlStatistics, CrawlStatus

HOSTILE = "http://a.test/\x1b[31mred"


def figures(pages: int, **more) -> CrawlStatistics:
    return CrawlStatistics(pages, 20, 12.4, {"gone": 3, "dns": 9}, 5_000, 7, 2, 4, 99, 61.0, **more)


def test_one_process():
    text = crawl_block(figures(12_345, given_up=2, recent=(HOSTILE,), slowest=(("slow.test", 2.5), ("b.test", 0.1))))
    assert "12,345 pages   12/s   5.0 kB   61 s" in text
    assert "12 without a page: 9 dns, 3 gone   2 hosts left alone" in text
    assert "slowest slow.test 2.50 s, b.test 0.10 s" in text
    assert "http://a.test/ [31mred" in text
    assert "\x1b" not in text


def test_a_line_for_each_shard():
    shards = [
        CrawlStatus(11, "running", figures(5, recent=("http://a.test/x", HOSTILE)), number=0, unsent=1_234),
        CrawlStatus(12, "idle", figures(6), number=1),
    ]
    lines = crawl_block(figures(11, recent=("http://whole.test/",)), shards).splitlines()
    head, first, second = lines[-3:]
    assert head.split() == ["shard", "state", "pages", "/s", "waiting", "under", "way", "failed", "to", "send"]
    assert first.split() == ["0", "running", "5", "12", "7", "2", "12", "1,234", "http://a.test/", "[31mred"]
    assert second.split() == ["1", "idle", "6", "12", "7", "2", "12", "0"]
    assert all(len(line) == len(second) for line in (head, second))
    assert "whole.test" not in "\n".join(lines)
    assert "\x1b" not in "\n".join(lines)


def test_errors_by_class():
    assert format_errors({"gone": 1, "dns": 2_000}) == "2,000 dns, 1 gone"
    assert format_errors({}) == ""
