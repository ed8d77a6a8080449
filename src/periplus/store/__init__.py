"""The page store: append-only WARC files and fetch logs, one manifest, one writer at a time.

In: a `FetchRecord` and the `FetchResult` it was made from. Out: fetch records in order of writing, stored responses,
statistics. A folder can be read while it is written. Every complete record survives a kill, every committed one a power
failure.

    store = PageStore.open(folder, settings, write=True)
    record = store.append(record, result)            # response to the WARC file, record to the log
    store.flush()                                    # survives kill -9
    store.commit()                                   # survives a power failure
    for record in store.records(): ...
    store.find(record.key); store.read_response(record)
    store.apply_retention(keep_bytes, keep_days)     # removes old responses; records are kept

A crawl in several shards has a store for each: `store`, `store/shard-01` and so on (`shard_folder`). Opening `store`
for reading includes all of them, in an order that is stored in `store/order.bin`.

The package also owns the compressors: `read_warc` (WARC files of any origin), `read_lines` (plain, gzip or zstd text),
`compress` and `decompress` (one zstd frame, bounded), `StreamDecoder` (an upload as it arrives). `write_cdxj` writes
the index by which tools for web archives find the responses. Formats: docs/formats/store.md.
"""

from periplus.store.compression import ENCODINGS, StreamDecoder, compress, decompress, read_lines
from periplus.store.page_store import PageStore, StoreStatistics
from periplus.store.retention import RetentionResult
from periplus.store.sharded_store import PUBLICATION_SHARD, RECEIVED_SHARD, shard_folder, shard_folders
from periplus.store.store_check import WarcRecord, check_store_folder, walk_warc
from periplus.store.store_manifest import durable_lengths
from periplus.store.store_repair import StoreRepair, read_orphans, repair_store_files
from periplus.store.warc.cdxj import CdxjResult, write_cdxj
from periplus.store.warc.warc_reader import WarcPage, parse_record, read_warc

__all__ = [
    "ENCODINGS",
    "PUBLICATION_SHARD",
    "RECEIVED_SHARD",
    "CdxjResult",
    "PageStore",
    "RetentionResult",
    "StoreRepair",
    "StoreStatistics",
    "StreamDecoder",
    "WarcPage",
    "WarcRecord",
    "check_store_folder",
    "compress",
    "decompress",
    "durable_lengths",
    "parse_record",
    "read_lines",
    "read_orphans",
    "read_warc",
    "repair_store_files",
    "shard_folder",
    "shard_folders",
    "walk_warc",
    "write_cdxj",
]
