"""Storage as a URL: a folder of a shared disk (file:///...) or an object store (s3://bucket/prefix).

In: bytes, files, records. Out: the same, verified. A cluster keeps its truth here; local disks are caches.

    storage = open_storage("s3://bucket/prefix", settings, create=True)       # or storage_url(settings, data_folder)
    stored = storage.put("statistics/7/lengths", data)            # -> StoredObject(name, length, checksum)
    storage.put_file("statistics/7/terms", path)                  # streamed: memory does not depend on its size
    storage.get(stored); storage.get_file(stored, path)           # verified: raise CorruptFile for other bytes
    storage.list_objects("statistics/7"); storage.delete(["statistics/7/lengths"])

An object appears whole or not at all. Its length and checksum are in a `StoredObject`, which the writer puts into a
record (it is a `msgspec.Struct`): objects first, the record that names them last. Objects never change: write another
name instead. What changes is a record, a small file that is replaced only by who has read its last version:

    version = storage.create_record("cluster.json", data)         # StorageConflict if there is one already
    record = storage.read_record("cluster.json")                  # Record(data, version); None if there is none
    storage.replace_record("cluster.json", data, record.version)  # StorageConflict if another process was faster

Of several processes that create or replace a record, one succeeds. A record has to carry its own checksum (JSON of
`files.encode_json` does), and should differ from all earlier versions, by a counter or the like.

A shard in storage is the files of its data folder and one manifest, which is written last:

    mirror = ShardMirror(folder, storage, number)                 # takes over the shard; an earlier owner is shut out
    mirror.upload()                                               # on return, what was on disk before the call is safe
    restore_shard(storage, number, folder)                        # on a bare machine; verified, whole or not at all
    upload_shard(folder, storage, number)                         # both of the first, once

A page, a message or a publication is *acknowledged in the cluster* when an upload has returned that began after it was
durable on disk: from then on, it survives the loss of the machine. `upload` only transfers what is new. It may run in
another thread or process than the one that writes the folder. After `StorageConflict` another machine owns the shard.

Requests that fail for a reason that passes (connections, timeouts, 5xx, a disk that is not mounted) are repeated with
growing delays for `storage.retry_seconds`; then `StorageFailed` names the URL and the remedy. A full storage and
refused credentials fail at once. Instances are safe for threads. Start
processes with spawn: those of object stores do not work in a forked one.

Layout under the URL: docs/formats/storage.md.
"""

from periplus.storage.shard_restore import RestoreResult, restore_shard
from periplus.storage.shard_upload import ShardMirror, UploadResult, upload_shard
from periplus.storage.storage_client import Storage, open_storage, storage_url
from periplus.storage.storage_records import ObjectSummary, Record, StoredObject

__all__ = [
    "ObjectSummary",
    "Record",
    "RestoreResult",
    "ShardMirror",
    "Storage",
    "StoredObject",
    "UploadResult",
    "open_storage",
    "restore_shard",
    "storage_url",
    "upload_shard",
]
