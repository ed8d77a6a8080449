"""Where pages are kept: append-only WARC files and visit logs, one manifest, one writer at a time.

In: a `FetchRecord` and the `FetchResult` it came from. Out: visits in order of writing, stored responses, sizes.
The same folder can be read while it is written. Every whole visit survives a kill; every committed one a power cut.

    store = PageStore.open(folder, settings, write=True)
    visit = store.append(visit, fetched)    # response to the WARC file, visit to the log
    store.flush()                           # survives kill -9
    store.commit()                          # survives a power cut
    for visit in store.records(): ...
    store.find(visit.key); store.read_response(visit)
    store.trim(keep_bytes, keep_days)       # lets go of old responses; visits stay

A crawl in several shards has a store for each: `store`, `store/shard-01` and so on (`shard_folder`). Opening `store`
for reading gives all of them as one, in an order that `store/order.bin` keeps.

Also here, because this room owns the compressors: `read_warc` (anybody's WARC files), `read_lines` (lines of plain,
gzip or zstd files), `compress` and `decompress` (one zstd frame, bounded). Formats: docs/formats/store.md.
"""

from periplus.store.compression import compress, decompress, read_lines
from periplus.store.page_store import PageStore, StoreStatistics
from periplus.store.retention import RetentionResult
from periplus.store.sharded_store import shard_folder, shard_folders
from periplus.store.warc.warc_reader import WarcPage, read_warc

__all__ = [
    "PageStore",
    "RetentionResult",
    "StoreStatistics",
    "WarcPage",
    "compress",
    "decompress",
    "read_lines",
    "read_warc",
    "shard_folder",
    "shard_folders",
]
