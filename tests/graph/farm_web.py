"""The visits of a crawl of the fake web, made without sockets."""

from collections import deque

from periplus.parse import parse
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import ParseSettings
from periplus.url import parse_address


def crawl(web):
    """Visit all that can be reached from the seeds, nearest first."""
    waiting = deque((url, 0) for url in web.seeds)
    seen, contents = set(web.seeds), {}
    while waiting:
        url, depth = waiting.popleft()
        target = parse_address(url)
        answer = web.response(target.host, target.path)
        headers = tuple((name.lower(), value) for name, value in answer.headers)
        found = []
        if 300 <= answer.status < 400:
            location = parse_address(answer.header("location"), url).url
            found = [location]
            yield FetchRecord(url, target.key, Outcome.REDIRECT, 1.0, answer.status, depth=depth, location=location)
        elif answer.status == 200:
            fetched = FetchResult(FetchRequest(target), Outcome.OK, 0.0, 200, headers, answer.body)
            read = parse(fetched, ParseSettings())
            duplicate_of = contents.setdefault(answer.body, url)
            if read is not None and duplicate_of != url:
                yield FetchRecord(url, target.key, Outcome.OK, 1.0, 200, depth=depth, duplicate_of=duplicate_of)
            elif read is not None:
                found = [link.url for link in read.links if not link.nofollow and not read.nofollow]
                yield FetchRecord(url, target.key, Outcome.OK, 1.0, 200, depth=depth, page=read)
        for link in found:
            try:
                clean = parse_address(link)
            except ValueError:
                continue
            if clean.scheme == "http" and clean.host.endswith(".test") and clean.url not in seen:
                seen.add(clean.url)
                waiting.append((clean.url, depth + 1))
