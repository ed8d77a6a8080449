"""Storages of both kinds: a folder, and a real object store on loopback."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store_server import ObjectStoreServer, run_server

from periplus.settings import StorageSettings
from periplus.storage import Storage, open_storage


@pytest.fixture(scope="session")
def _server() -> Iterator[ObjectStoreServer]:
    yield from run_server()


@pytest.fixture
def object_store(_server: ObjectStoreServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStoreServer]:
    """A server without faults. Keys are read from the environment, as in production."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    _server.fault = None
    _server.requests.clear()
    yield _server
    _server.fault = None


@pytest.fixture
def s3_settings(object_store: ObjectStoreServer) -> StorageSettings:
    return StorageSettings(endpoint=object_store.endpoint, retry_seconds=0.0, timeout=10.0)


@pytest.fixture
def s3_url(object_store: ObjectStoreServer) -> str:
    bucket = f"bucket-{secrets.token_hex(6)}"
    object_store.make_bucket(bucket)
    return f"s3://{bucket}/some/prefix"


@pytest.fixture
def s3_storage(s3_url: str, s3_settings: StorageSettings) -> Storage:
    return open_storage(s3_url, s3_settings, create=True)


@pytest.fixture(params=["file", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """An empty storage of each kind."""
    if request.param == "s3":
        return request.getfixturevalue("s3_storage")
    return open_storage((tmp_path / "shared disk").as_uri(), StorageSettings(retry_seconds=0.0), create=True)
