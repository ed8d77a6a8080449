"""An object store that is full, slow, gone for a while, or lies."""

import http.client
import os
import sys
import threading
from collections import defaultdict
from pathlib import Path

import msgspec
import pytest
from object_store_server import Answer, Environ, Fault, Handler, ObjectStoreServer, refusal, with_body
from shard_folders import content, object_names, write

from periplus.errors import CorruptFile, MissingPart, StorageConflict, StorageFailed
from periplus.settings import StorageSettings
from periplus.storage import ShardMirror, Storage, open_storage, restore_shard
from periplus.storage.shard_manifest import read_shard_manifest

FILES = {"crawl/frontier.bin": b"snapshot", "store/visits-00000.log": bytes(range(256)) * 64, "inbox/1.new": b"page"}
CHANGED = {**FILES, "crawl/frontier.bin": b"a later snapshot", "store/pages-00000.warc.zst": os.urandom(70_000)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data", FILES)
    return tmp_path / "data"


def refuse_writes(answer: Answer, first: int) -> Fault:
    """Return a fault that refuses uploads from the given one on."""
    count = iter(range(1_000_000))

    def fault(environ: Environ, handle: Handler) -> Answer:
        if environ["REQUEST_METHOD"] in ("PUT", "POST") and next(count) >= first:
            return answer
        return handle()

    return fault


@pytest.mark.parametrize(
    "answer",
    [refusal("507 Insufficient Storage"), refusal("400 Bad Request", "QuotaExceeded"), refusal("403 Forbidden")],
    ids=["full", "quota", "forbidden"],
)
@pytest.mark.parametrize("first", range(4))
def test_a_full_store_fails_at_once_and_the_last_upload_stays(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path, tmp_path: Path, first: int, answer: Answer
) -> None:
    patient = Storage(s3_storage.url, s3_storage._backend, StorageSettings(retry_seconds=1e6))
    patient.id = s3_storage.id
    mirror = ShardMirror(folder, patient, 0)
    mirror.upload()
    write(folder, CHANGED)
    object_store.fault = refuse_writes(answer, first)
    message = r"Not allowed to use s3://" if answer[0].startswith("403") else r"The storage is full: cannot write s3://"
    if first == 3:  # two objects and the manifest are accepted; deleting what is not needed is refused
        with pytest.raises(StorageFailed):
            mirror.upload()
    else:
        with pytest.raises(StorageFailed, match=message):
            mirror.upload()
    object_store.fault = None
    restore_shard(s3_storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == (CHANGED if first == 3 else FILES)
    mirror.upload()
    restore_shard(s3_storage, 0, tmp_path / "again")
    assert content(tmp_path / "again") == CHANGED
    ShardMirror(folder, s3_storage, 0).upload()
    manifest = read_shard_manifest(s3_storage, 0)
    assert manifest is not None
    assert object_names(s3_storage, 0) == manifest.manifest.objects()


def test_a_store_that_is_gone_for_a_while_is_waited_for(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path, tmp_path: Path
) -> None:
    pauses: dict[int, list[float]] = defaultdict(list)  # by thread: each waits for one request while the store is gone
    back = threading.Lock()

    def come_back(seconds: float) -> None:
        own = pauses[threading.get_ident()]
        own.append(seconds)
        if len(own) == 5 and back.acquire(blocking=False):
            object_store.start()

    patient = Storage(s3_storage.url, s3_storage._backend, StorageSettings(retry_seconds=60.0), come_back)
    patient.id = s3_storage.id
    mirror = ShardMirror(folder, patient, 0)
    mirror.upload()
    write(folder, CHANGED)
    object_store.stop()
    mirror.upload()
    longest = max(pauses.values(), key=len)
    assert len(longest) >= 5
    assert all(0.05 * 2**turn <= pause <= 0.1 * 2**turn for turn, pause in enumerate(longest[:5]))
    restore_shard(s3_storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == CHANGED


def test_a_store_that_stays_away_is_an_error_that_names_it(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path
) -> None:
    mirror = ShardMirror(folder, s3_storage, 0)
    object_store.stop()
    try:
        with pytest.raises(StorageFailed, match=r"s3://bucket.* cannot be used: .*reached from this machine"):
            mirror.upload()
    finally:
        object_store.start()
    assert mirror.upload().generation == 1


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Slow Down", "429 Too Many Requests", "dropped"])
def test_failures_that_pass_are_repeated(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path, tmp_path: Path, status: str
) -> None:
    """Every second request fails, and half of these were carried out all the same."""
    count = iter(range(1_000_000))

    def fault(environ: Environ, handle: Handler) -> Answer | None:
        number = next(count)
        if number % 2:
            return handle()
        if number % 4:
            handle()
        return None if status == "dropped" else refusal(status)

    patient = Storage(s3_storage.url, s3_storage._backend, StorageSettings(retry_seconds=60.0), lambda _: None)
    patient.id = s3_storage.id
    object_store.fault = fault
    mirror = ShardMirror(folder, patient, 0)
    mirror.upload()
    write(folder, CHANGED)
    mirror.upload()
    restore_shard(patient, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == CHANGED


def test_a_conditional_write_whose_response_is_lost_has_succeeded(
    s3_storage: Storage, object_store: ObjectStoreServer
) -> None:
    losses = iter(range(2))

    def lose(environ: Environ, handle: Handler) -> Answer | None:
        answer = handle()
        return None if environ["REQUEST_METHOD"] == "PUT" and next(losses, None) is not None else answer

    patient = Storage(s3_storage.url, s3_storage._backend, StorageSettings(retry_seconds=60.0), lambda _: None)
    object_store.fault = lose
    version = patient.create_record("cluster.json", b"ours")
    record = s3_storage.read_record("cluster.json")
    assert record == (b"ours", version)
    with pytest.raises(StorageConflict):
        s3_storage.create_record("cluster.json", b"ours")


def test_a_slow_store_times_out(
    s3_url: str, s3_settings: StorageSettings, s3_storage: Storage, object_store: ObjectStoreServer
) -> None:
    released = threading.Event()

    def hang(environ: Environ, handle: Handler) -> Answer:
        released.wait(60)
        return handle()

    hasty = open_storage(s3_url, msgspec.structs.replace(s3_settings, timeout=0.2))
    object_store.fault = hang
    try:
        with pytest.raises(StorageFailed, match=r"/a cannot be used"):
            hasty.put("a", b"1")
    finally:
        released.set()


@pytest.mark.parametrize("lie", ["truncated", "empty", "flipped", "other"])
def test_a_store_that_lies_leaves_no_torn_shard(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path, tmp_path: Path, lie: str
) -> None:
    ShardMirror(folder, s3_storage, 0).upload()
    change = {
        "truncated": lambda body: body[:-1],
        "empty": lambda body: b"",
        "flipped": lambda body: body[:-1] + bytes([body[-1] ^ 1]),
        "other": lambda body: os.urandom(len(body)),
    }[lie]

    def fault(environ: Environ, handle: Handler) -> Answer:
        answer = handle()
        if environ["REQUEST_METHOD"] == "GET" and "visits-00000.log" in environ["PATH_INFO"]:
            return with_body(answer, change(answer[2]))
        return answer

    object_store.fault = fault
    with pytest.raises((CorruptFile, StorageFailed), match=r"s3://.*/shards/00/files/store/visits-00000\.log/0"):
        restore_shard(s3_storage, 0, tmp_path / "bare")
    assert not (tmp_path / "bare").exists()
    object_store.fault = None
    object_store.requests.clear()
    result = restore_shard(s3_storage, 0, tmp_path / "bare")  # the rest was fetched before
    assert result.fetched_files < len(FILES)
    assert content(tmp_path / "bare") == FILES


def test_bytes_that_were_damaged_on_their_way_are_fetched_again(
    s3_storage: Storage, object_store: ObjectStoreServer, tmp_path: Path
) -> None:
    stored = s3_storage.put("a", b"tides")
    lies = iter(range(1))

    def lie_once(environ: Environ, handle: Handler) -> Answer:
        answer = handle()
        return with_body(answer, b"tiles") if next(lies, None) is not None else answer

    object_store.fault = lie_once
    assert s3_storage.get(stored) == b"tides"
    lies = iter(range(1))
    s3_storage.get_file(stored, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"tides"


def test_an_object_that_was_truncated_in_the_store(s3_storage: Storage, tmp_path: Path) -> None:
    stored = s3_storage.put("large", os.urandom((8 << 20) + 5))
    s3_storage._backend.put("large", bytes(8 << 20))
    with pytest.raises(CorruptFile, match=r"s3://.*/large is damaged: it ends after 8,388,608 of 8,388,613 bytes"):
        s3_storage.get_file(stored, tmp_path / "back")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_ignores_conditions_is_refused(
    s3_url: str, s3_settings: StorageSettings, s3_storage: Storage, object_store: ObjectStoreServer
) -> None:
    def ignore(environ: Environ, handle: Handler) -> Answer:
        for name in ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"):
            environ.pop(name, None)
        return handle()

    object_store.fault = ignore
    with pytest.raises(StorageFailed, match=r"ignores the conditions of conditional writes.*If-None-Match"):
        open_storage(s3_url, s3_settings)


def test_a_bucket_that_does_not_exist_is_an_error(s3_settings: StorageSettings) -> None:
    with pytest.raises(StorageFailed, match=r"s3://no-such-bucket: there is no such bucket"):
        open_storage("s3://no-such-bucket", s3_settings, create=True)


def test_without_the_client_an_error_names_the_extra(
    s3_settings: StorageSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(MissingPart, match=r"pip install periplus\[cluster\]"):
        open_storage("s3://bucket/prefix", s3_settings)
    open_storage((tmp_path / "s").as_uri(), s3_settings, create=True)  # a shared disk needs nothing


def test_a_forked_process_is_refused_and_does_not_hang(s3_storage: Storage) -> None:
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            s3_storage.put("a", b"1")
        except StorageFailed as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(process, 0)
    with os.fdopen(reader, "rb") as pipe:
        assert b"Start processes with spawn" in pipe.read()


def test_the_server_of_these_tests_is_a_real_one(object_store: ObjectStoreServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(object_store.endpoint.rpartition(":")[2]))
    connection.request("GET", "/no-such-bucket/a")
    assert connection.getresponse().status in (403, 404)
    connection.close()


def test_an_owner_goes_on_after_an_outage_in_which_the_answer_to_its_commit_was_lost(
    s3_storage: Storage, object_store: ObjectStoreServer, folder: Path, tmp_path: Path
) -> None:
    """The outage lasts longer than requests are repeated: the owner cannot know that it has written the manifest."""
    mirror = ShardMirror(folder, s3_storage, 0)
    mirror.upload()
    outage = threading.Event()

    def lose(environ: Environ, handle: Handler) -> Answer | None:
        if outage.is_set():
            return None
        answer = handle()
        if environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].endswith("manifest.json"):
            outage.set()
            return None
        return answer

    object_store.fault = lose
    write(folder, CHANGED)
    with pytest.raises(StorageFailed):
        mirror.upload()
    object_store.fault = None
    assert mirror.upload().generation == 3
    restore_shard(s3_storage, 0, tmp_path / "bare")
    assert content(tmp_path / "bare") == CHANGED
    named = read_shard_manifest(s3_storage, 0)
    assert named is not None
    assert object_names(s3_storage, 0) == named.manifest.objects()
