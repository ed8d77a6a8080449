"""What shards send each other: sizes that are measured, and volumes that follow from them for 1 to 4,096 shards.

    outlinks      a link to a page of another shard, as a mailbox message
    PageRank      one number for each page of another shard that a shard links to, in every round
    dictionary    terms with their document frequencies, which brokers plan with; and the statistics of fields
    anchors       text and target of a link to a page of another shard

Between S shards that own hosts by hashing, a link to another host leaves its shard with a chance of 1 - 1/S.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import zstandard

from crawlweb import PAGES_PER_HOST, BenchWeb
from figures import folder_bytes
from periplus.crawl.sharding.mailbox import ForwardedLink, ShardMessage
from periplus.graph.ranking.edge_list import read_edges
from periplus.hashing import fingerprint
from periplus.index import Index
from periplus.parse import parse
from periplus.records import FetchRecord, FetchRequest, FetchResult, Outcome
from periplus.settings import Settings
from periplus.store import PageStore
from periplus.url import parse_address

BLOCKS = 64
"""Pages in a row that stand for a host, in a graph without URLs: they are numbered by URL."""
NUMBER_BYTES = 8


def measure_pages(folder: Path, hosts: int = 4) -> dict[str, Any]:
    """Parse and store pages of the crawl benchmark's web; return sizes per page and per link, and CPU times."""
    web = BenchWeb(hosts * PAGES_PER_HOST)
    settings = Settings()
    sent, html, links, anchor_bytes, message_bytes = 0, 0, 0, 0, 0
    words, spent = 0, 0.0
    with PageStore.open(folder, settings.store, write=True) as store:
        for host in range(web.hosts):
            for page in range(PAGES_PER_HOST):
                body = web.render(host, page)
                url = f"http://{web.name(host)}{web.path(host, page)}"
                request = FetchRequest(parse_address(url))
                headers = (("content-type", "text/html; charset=utf-8"),)
                result = FetchResult(request, Outcome.OK, 1.0, status=200, headers=headers, body=body)
                began = time.process_time()
                parsed = parse(result, settings.parse)
                spent += time.process_time() - began
                assert parsed is not None
                store.append(
                    FetchRecord(url, fingerprint(url.encode()), Outcome.OK, 1.0, status=200, page=parsed), result
                )
                message = [ForwardedLink(link.url, 1, 0.5, 0, False) for link in parsed.links]
                html += len(body)
                sent += len(zstandard.compress(body, 3))
                links += len(parsed.links)
                words += parsed.text.count(" ") + 1
                anchor_bytes += sum(len(link.text.encode()) + 16 for link in parsed.links)
                message_bytes += len(msgspec.msgpack.encode(ShardMessage(0, message)))
    pages = web.pages
    return {
        "pages": pages,
        "html_bytes": round(html / pages),
        "html_bytes_compressed": round(sent / pages),
        "stored_bytes": round(folder_bytes(folder) / pages),
        "words": round(words / pages),
        "links": round(links / pages, 1),
        "outlink_bytes": round(message_bytes / links, 2),
        "anchor_bytes": round(anchor_bytes / links, 2),
    }


def measure_dictionary(index: Index) -> dict[str, Any]:
    """Return the size of an index's vocabulary as brokers get it: terms and document frequencies, compressed."""
    terms, raw = 0, bytearray()
    for segment in index.segments:
        table = segment.terms()
        terms += segment.term_count
        raw += table.blob.tobytes() + np.diff(table.start).astype(np.uint8).tobytes() + table.frequency.tobytes()
    packed = len(zstandard.compress(bytes(raw), 3))
    return {"documents": index.documents, "terms": terms, "bytes": len(raw), "compressed_bytes": packed}


def rank_exchange(graph: Path, shards: Sequence[int]) -> list[dict[str, Any]]:
    """Return, for a real web graph over S shards, how many numbers a round of PageRank sends, and how many links cross.

    Blocks of 64 pages in a row are placed at random, as hosts are: links within a site mostly stay on its shard.
    """
    sources, targets = (np.concatenate(side) for side in zip(*read_edges(graph), strict=True))
    pages = int(max(sources.max(), targets.max())) + 1
    random = np.random.default_rng(16)
    rows = []
    for count in shards:
        owner = random.integers(0, count, pages // BLOCKS + 1)[np.arange(pages) // BLOCKS]
        crossing = owner[sources] != owner[targets]
        pairs = np.unique(owner[sources[crossing]].astype(np.int64) * pages + targets[crossing])
        rows.append(
            {
                "shards": count,
                "pages": pages,
                "links": len(sources),
                "crossing_links": int(crossing.sum()),
                "numbers_per_round": len(pairs),
                "numbers_per_page": round(len(pairs) / pages, 4),
                "bytes_per_round": len(pairs) * NUMBER_BYTES,
            }
        )
    return rows


def volumes(shards: int, pages: float, sizes: dict[str, float]) -> dict[str, float]:
    """Return what S shards send each other in all, in bytes, for a web of so many pages.

    sizes: links_per_page, external_share, outlink_bytes, anchor_bytes, numbers_per_page, rounds, dictionary_bytes.
    Of the links of a web, `external_share` lead to other sites. The numbers of PageRank are an upper bound: larger
    shards link to the same pages more than once.
    """
    leaving = (1 - 1 / shards) * pages * sizes["links_per_page"] * sizes["external_share"]
    numbers = min(leaving, pages * sizes["numbers_per_page"])
    return {
        "outlinks": leaving * sizes["outlink_bytes"],
        "anchors": leaving * sizes["anchor_bytes"],
        "pagerank_round": numbers * NUMBER_BYTES,
        "pagerank": numbers * NUMBER_BYTES * sizes["rounds"],
        "statistics": shards * sizes["statistics_bytes"],
        "dictionary": sizes["dictionary_bytes"]
        * (pages / shards / sizes["dictionary_documents"]) ** sizes["heaps"]
        * shards,
        "messages_round": shards * (shards - 1),
    }
