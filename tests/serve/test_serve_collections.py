"""Named collections over HTTP: fields of their own, keys that may read them, aliases that change in one step, CORS."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgi_caller import get

from conditions import wait_until
from periplus.app import open_server
from periplus.app.serving.collection_service import CollectionService
from periplus.errors import BadInput, CorruptFile, SettingsError
from periplus.files import open_data_folder
from periplus.publish import CollectionCatalog, collection_publisher
from periplus.serve import Actions, ApiKeys, background_server, make_app
from periplus.settings import ServeSettings, Settings

SETTINGS = Settings(
    serve=ServeSettings(
        port=0, threads=2, rate=0.0, expensive_process=False, open_collections=2, cors_origins=("https://shop.example",)
    )
)
FIELDS = {"brand": {"type": "keyword"}, "price": {"type": "number"}}
HOSTILE = ["", "..", "a/b", "%2e%2e", "a" * 65, "-a", "a b", "ä", "pending.", "a\x00b", "*"]


class Server:
    """A server with collections, and what programs with different keys ask it."""

    def __init__(self, url: str, keys: ApiKeys) -> None:
        self.url, self.keys = url, keys
        self.admin = keys.add("admin", "admin")

    def ask(self, method: str, path: str, value: Any = None, key: str | None = None, **headers: str) -> tuple[int, Any]:
        body = value if isinstance(value, bytes) else None if value is None else json.dumps(value).encode()
        given = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        secret = self.admin if key is None else key
        request = urllib.request.Request(self.url + path, body, given, method=method)
        if secret:
            request.add_header("x-api-key", secret)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def push(self, name: str, *documents: Any, key: str | None = None) -> tuple[int, Any]:
        return self.ask("POST", f"api/collections/{name}/documents?wait=1", list(documents), key)

    def titles(self, name: str, query: str, key: str | None = None) -> list[str]:
        status, answer = self.ask("GET", f"api/collections/{name}/search?{query}", key=key)
        assert status == 200, answer
        return [result["title"] for result in answer["results"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return open_data_folder(tmp_path_factory.mktemp("collections") / "data", create=True)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    opened = open_server(folder, SETTINGS, warm=True)
    assert opened.keys is not None
    with (
        collection_publisher(folder, SETTINGS),
        background_server(opened.searcher, SETTINGS.serve, opened.actions, opened.keys) as url,
    ):
        yield Server(url, opened.keys)


@pytest.fixture(scope="module")
def lamps(server: Server) -> Server:
    status, made = server.ask("POST", "api/collections", {"name": "lamps_1", "fields": FIELDS})
    assert (status, made["public"], made["documents"]) == (201, False, 0)
    status, answer = server.push(
        "lamps_1",
        {"id": 1, "title": "Brass lamp", "brand": "acme", "price": 10},
        {"id": 2, "title": "Steel lamp", "brand": "bolt", "price": 25},
    )
    assert (status, answer["taken"], answer["status"]) == (202, 2, "indexed")
    assert server.ask("PUT", "api/aliases/lamps", {"collection": "lamps_1"})[0] == 200
    return server


def test_a_collection_has_documents_and_fields_of_its_own(lamps: Server) -> None:
    assert lamps.titles("lamps_1", "q=lamp&sort=price:desc") == ["Steel lamp", "Brass lamp"]
    assert lamps.titles("lamps", "q=lamp&filter=brand:acme") == ["Brass lamp"]
    facets = lamps.ask("GET", "api/collections/lamps/search?facets=brand")[1]["facets"]
    assert facets["brand"]["values"] == {"acme": 1, "bolt": 1}
    assert lamps.ask("GET", "api/search?q=lamp")[1]["results"] == [], "the main index is another"
    assert lamps.ask("GET", "api/collections/lamps/documents/2")[1]["price"] == 25
    assert lamps.ask("GET", "api/collections/lamps")[1]["documents"] == 2
    assert lamps.ask("GET", "api/collections/lamps/search?q=lamp&filter=colour:red")[0] == 400
    status, answer = lamps.push("lamps_1", {"id": 3, "price": "free"})
    assert (status, answer["errors"][0]["line"]) == (400, 1)


def test_fields_are_changed_unless_documents_contradict_them(lamps: Server) -> None:
    changed = FIELDS | {"size": {"type": "number"}, "brand": {"type": "number"}}
    status, answer = lamps.ask("PATCH", "api/collections/lamps_1", {"fields": changed})
    assert status == 400
    assert "brand" in answer["error"]
    status, answer = lamps.ask("PATCH", "api/collections/lamps_1", {"fields": FIELDS | {"size": {"type": "number"}}})
    assert status == 200
    assert set(answer["fields"]) == {"brand", "price", "size"}
    assert lamps.titles("lamps_1", "q=lamp&filter=size:..3") == [], "a field is declared for searches at once"
    assert lamps.ask("PATCH", "api/collections/lamps_1", {"fields": {"a b": {"type": "number"}}})[0] == 400


def test_private_collections_need_a_key_that_covers_them(lamps: Server) -> None:
    reader = lamps.keys.add("lamps only", "read", ["lamps"])
    other = lamps.keys.add("others only", "read", ["ropes*"])
    writer = lamps.keys.add("writer", "publish", ["lamps_*"])
    search = "api/collections/lamps/search?q=lamp"
    assert len(lamps.titles("lamps", "q=lamp", reader)) == 2
    assert lamps.ask("GET", search, key="")[0] == 401
    assert lamps.ask("GET", search, key=other)[0] == 403
    assert lamps.ask("GET", "api/collections/nowhere/search?q=lamp", key="")[0] == 401, "nobody learns what there is"
    assert lamps.ask("GET", "api/collections/nowhere/search?q=lamp")[0] == 404
    assert lamps.ask("GET", "api/collections/lamps/documents/1", key=reader)[0] == 200
    assert lamps.push("lamps", {"id": 9, "title": "No"}, key=reader)[0] == 403
    assert lamps.ask("DELETE", "api/collections/lamps", key=writer)[0] == 403
    assert lamps.ask("POST", "api/documents", [{"id": 9}], writer)[0] == 403, "a limited key is for collections only"
    assert lamps.ask("GET", "api/keys", key=writer)[0] == 403
    listed = lamps.ask("GET", "api/collections", key=other)[1]["collections"]
    assert [one["name"] for one in listed] == []
    assert [one["name"] for one in lamps.ask("GET", "api/collections", key=reader)[1]["collections"]] == ["lamps_1"]


def test_keys_are_made_and_revoked_over_http(lamps: Server, folder: Path) -> None:
    body = {"name": "web", "role": "read", "collections": ["lamps*"]}
    status, made = lamps.ask("POST", "api/keys", body)
    assert status == 201
    assert made["key"] not in (folder / "keys.json").read_text(), "only its digest is stored"
    assert len(lamps.titles("lamps", "q=lamp", made["key"])) == 2
    assert lamps.ask("POST", "api/keys", body)[0] == 400
    assert lamps.ask("POST", "api/keys", body | {"name": "x", "collections": ["../x"]})[0] == 400
    assert lamps.ask("POST", "api/keys", {"name": "y", "role": "admin", "collections": ["lamps"]})[0] == 400
    assert "web" in {key["name"] for key in lamps.ask("GET", "api/keys")[1]["keys"]}
    assert lamps.ask("DELETE", "api/keys/web")[0] == 200
    assert lamps.ask("GET", "api/collections/lamps/search?q=lamp", key=made["key"])[0] == 401


def test_an_alias_changes_in_one_step_without_a_mix_or_a_gap(lamps: Server) -> None:
    """Readers ask all the time while the collection is replaced three times; each answer is one whole version."""
    lamps.ask("POST", "api/collections", {"name": "fleet_0", "public": True})
    lamps.push("fleet_0", *({"id": n, "title": f"Ship {n}", "text": "version0"} for n in range(5)))
    lamps.ask("PUT", "api/aliases/fleet", {"collection": "fleet_0"})
    stopped, seen, wrong = threading.Event(), set[str](), list[Any]()

    def read() -> None:
        while not stopped.is_set():
            status, answer = lamps.ask("GET", "api/collections/fleet/search?q=ship&similar=1", key="")
            versions = {result["content"] for result in answer.get("results", ())}
            if status != 200 or len(answer["results"]) != 5 or len(versions) != 1:
                wrong.append((status, answer))
            seen.update(versions)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for version in (1, 2, 3):
            name = f"fleet_{version}"
            lamps.ask("POST", "api/collections", {"name": name, "public": True})
            body = [{"id": n, "title": f"Ship {n}", "text": f"version{version}"} for n in range(5)]
            assert lamps.ask("POST", f"api/collections/{name}/documents", body)[0] == 202, "no wait: the alias does"
            assert lamps.ask("POST", "api/aliases", {"set": {"fleet": name}})[0] == 200
            assert lamps.titles("fleet", "q=" + f"version{version}&similar=1", "") != [], "the next request sees it"
            assert lamps.ask("DELETE", f"api/collections/fleet_{version - 1}")[0] == 200
        wait_until(lambda: any("version3" in text for text in seen))
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert lamps.ask("DELETE", "api/collections/fleet_3")[0] == 400, "an alias stands for it"
    assert lamps.ask("POST", "api/aliases", {"set": {"other": "fleet_3", "third": "none"}})[0] == 400
    assert "other" not in lamps.ask("GET", "api/aliases")[1]["aliases"], "all or nothing"
    assert lamps.ask("DELETE", "api/aliases/fleet")[0] == 200
    assert lamps.ask("DELETE", "api/aliases/fleet")[0] == 404


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(server: Server, folder: Path, name: str) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert server.ask("POST", "api/collections", {"name": name})[0] == 400
    assert server.ask("POST", "api/aliases", {"set": {name: "lamps_1"}})[0] == 400
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_is_wrong_in_a_body_is_named(server: Server) -> None:
    assert server.ask("POST", "api/collections", {"name": "x", "fields": {"a": {"type": "colour"}}})[0] == 400
    assert server.ask("POST", "api/collections", {"name": "x", "fields": {"a": 1}})[0] == 400
    assert server.ask("POST", "api/collections", {"name": "x", "more": 1})[0] == 400
    assert server.ask("POST", "api/collections/none/documents", [{"id": 1}])[0] == 404


def test_changes_of_collections_are_logged_with_their_author(server: Server) -> None:
    writer = server.keys.add("shopkeeper", "manage", ["shop_*"])
    assert server.ask("POST", "api/collections", {"name": "shop_1"}, writer)[0] == 201
    assert server.ask("PATCH", "api/collections/shop_1", {"public": True}, writer)[0] == 200
    assert server.ask("PUT", "api/aliases/shop_a", {"collection": "shop_1"}, writer)[0] == 200
    assert server.ask("DELETE", "api/aliases/shop_a", key=writer)[0] == 200
    assert server.ask("DELETE", "api/collections/shop_1", key=writer)[0] == 200
    said = [(one["who"], one["what"], one["detail"]) for one in server.ask("GET", "api/changes?count=5")[1]["changes"]]
    assert said == [
        ("shopkeeper", "delete a collection", "shop_1"),
        ("shopkeeper", "change aliases", "no shop_a"),
        ("shopkeeper", "change aliases", "shop_a is shop_1"),
        ("shopkeeper", "change a collection", "shop_1: public"),
        ("shopkeeper", "create a collection", "shop_1"),
    ]


def test_collections_survive_a_restart_and_are_opened_lazily(tmp_path: Path) -> None:
    folder = open_data_folder(tmp_path / "data", create=True)
    service = CollectionService(folder, SETTINGS)
    for number in range(4):
        service.create(f"c{number}", {}, public=True)
        upload = service.documents(f"c{number}").begin_upload("identity", True)  # type: ignore[union-attr]
        upload.feed(b'{"id": 1, "title": "Number %d"}' % number)
        upload.finish()
    assert len(service._open) == 2, "those that were not asked for the longest time are closed"
    again = CollectionService(folder, SETTINGS)
    with collection_publisher(folder, SETTINGS):  # it finds what an earlier process has left
        wait_until(lambda: all(again.describe(f"c{n}")["pending"] == 0 for n in range(4)))  # type: ignore[index]
    assert [again.describe(f"c{number}")["documents"] for number in range(4)] == [1] * 4  # type: ignore[index]
    assert again._open.keys() <= {collection.folder for collection in CollectionCatalog(folder).all()}


def test_an_upload_to_a_deleted_collection_is_refused_and_a_damaged_catalog_named(tmp_path: Path) -> None:
    service = CollectionService(open_data_folder(tmp_path, create=True), SETTINGS)
    service.create("gone", {}, public=False)
    documents = service.documents("gone")
    assert documents is not None
    upload = documents.begin_upload("identity", True)
    service.delete("gone")
    upload.feed(b'{"id": 1}')
    with pytest.raises(BadInput, match="deleted"):
        upload.finish()
    catalog = tmp_path / "collections.json"
    catalog.write_bytes(catalog.read_bytes().replace(b'"aliases"', b'"Aliases"'))
    with pytest.raises(CorruptFile):
        CollectionCatalog(tmp_path).all()


def cross_origin(origins: tuple[str, ...]) -> Any:
    from fake_searcher import FakeSearcher

    return make_app(FakeSearcher(), ServeSettings(cors_origins=origins), Actions(), ApiKeys(None))


def test_pages_of_other_origins_are_allowed_by_setting_without_cookies() -> None:
    app = cross_origin(("https://shop.example",))
    asked = {"origin": "https://shop.example", "access-control-request-method": "POST"}
    preflight = get(app, "/api/collections/x/documents", "OPTIONS", asked)
    assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (204, "https://shop.example")
    assert "authorization" in preflight.headers["access-control-allow-headers"]
    found = get(app, "/api/search?q=lighthouse", headers={"origin": "https://shop.example"})
    assert found.headers["access-control-allow-origin"] == "https://shop.example"
    assert found.headers["cross-origin-resource-policy"] == "cross-origin"
    assert "origin" in found.headers["vary"]
    for other in ("https://evil.example", "null", "https://shop.example.evil.example", "http://shop.example"):
        refused = get(app, "/api/search?q=lighthouse", headers={"origin": other})
        assert "access-control-allow-origin" not in refused.headers
        assert get(app, "/api/search", "OPTIONS", asked | {"origin": other}).status == 405
    assert "access-control-allow-origin" not in get(app, "/admin", headers={"origin": "https://shop.example"}).headers
    anybody = get(cross_origin(("*",)), "/api/search?q=lighthouse", headers={"origin": "https://any.example"})
    assert anybody.headers["access-control-allow-origin"] == "*"
    assert not any("credentials" in name for name in (*anybody.headers, *found.headers, *preflight.headers))
    with pytest.raises(SettingsError):
        cross_origin(("shop.example/path",))
