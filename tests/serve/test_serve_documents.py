"""Documents of applications over HTTP: pushed in bulk to an empty server, found, filtered, counted, sorted, deleted."""

import contextlib
import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import zstandard

from conditions import wait_until
from periplus.app import open_server
from periplus.app.jobs.field_declarations import apply_fields
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.index import Index, build_index
from periplus.publish import DocumentConverter, background_publisher
from periplus.serve import background_server
from periplus.settings import FieldSettings, ServeSettings, Settings

FIELDS = {
    "brand": FieldSettings("keyword"),
    "price": FieldSettings("number"),
    "in_stock": FieldSettings("boolean"),
    "released": FieldSettings("date"),
    "details": FieldSettings("text"),
}
SETTINGS = Settings(serve=ServeSettings(port=0, threads=1, expensive_process=False), fields=FIELDS)


class Server:
    """A server of a new folder, and what a program asks it."""

    def __init__(self, url: str, secret: str) -> None:
        self._url, self._secret = url, secret

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self._url + path, body, {"x-api-key": self._secret, **names}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def push(self, body: bytes, kind: str = "application/x-ndjson", **headers: str) -> tuple[int, Any]:
        return self.ask("POST", "api/documents?wait=1", body, content_type=kind, **headers)

    def search(self, **parameters: str) -> Any:
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        status, answer = self.ask("GET", f"api/search?{query}")
        assert status == 200, answer
        return answer

    def titles(self, **parameters: str) -> list[str]:
        return [result["title"] for result in self.search(**parameters)["results"]]


@contextlib.contextmanager
def running_server(folder: Path) -> Iterator[Server]:
    open_data_folder(folder, create=True)
    opened = open_server(folder, SETTINGS, warm=True)
    assert opened.keys is not None
    secret = opened.keys.add("app", "publish")
    with (
        background_publisher(folder, SETTINGS),
        background_server(opened.searcher, SETTINGS.serve, opened.actions, opened.keys) as url,
    ):
        yield Server(url, secret)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("documents") / "data") as server:
        yield server


def lines(*documents: object) -> bytes:
    return b"\n".join(json.dumps(document).encode() for document in documents)


LAMPS = [
    {"id": "1", "title": "Brass lamp", "brand": "acme", "price": 10, "in_stock": True, "released": "2024-01-05"},
    {"id": "2", "title": "Steel lamp", "brand": "bolt", "price": 25.5, "in_stock": False, "released": "2024-03-01"},
    {"id": "3", "title": "Paper lamp", "brand": ["acme", "kite"], "price": 4, "details": "Folded by hand in Kyoto."},
    {"id": "4", "title": "Rope", "brand": "acme", "price": 7, "in_stock": True},
]


@pytest.fixture(scope="module")
def lamps(server: Server) -> Server:
    assert server.search(q="lamp")["notes"] == [
        "Nothing is indexed yet: crawl a site, or send documents to /api/documents."
    ]
    status, answer = server.push(lines(*LAMPS))
    assert (status, answer["taken"], answer["failed"], answer["status"]) == (202, 4, 0, "indexed")
    return server


def test_documents_are_filtered_in_words_and_by_parameter(lamps: Server) -> None:
    assert sorted(lamps.titles(q="lamp")) == ["Brass lamp", "Paper lamp", "Steel lamp"]
    assert sorted(lamps.titles(q="lamp brand:acme")) == ["Brass lamp", "Paper lamp"]
    assert lamps.titles(q="lamp -brand:acme") == ["Steel lamp"]
    assert sorted(lamps.titles(q="price:5..20")) == ["Brass lamp", "Rope"]
    assert lamps.titles(q="lamp", filter="price>10 OR released:2024-01") in (
        ["Brass lamp", "Steel lamp"],
        ["Steel lamp", "Brass lamp"],
    )
    assert lamps.titles(q="", filter="NOT in_stock:* AND brand:kite") == ["Paper lamp"]
    assert lamps.titles(q="lamp", filter="released:2024-02-01..") == ["Steel lamp"]
    assert lamps.titles(q="lamp", filter="price>100") == [], "a filter is never relaxed"
    assert lamps.titles(q="lamp price:100..") == []
    assert lamps.titles(q="kyoto") == ["Paper lamp"], "fields of type text are searched"


def test_facets_are_exact_and_results_sorted(lamps: Server) -> None:
    page = lamps.search(q="lamp", facets="brand,price,in_stock")
    assert page["facets"]["brand"]["values"] == {"acme": 2, "bolt": 1, "kite": 1}
    assert (page["facets"]["price"]["min"], page["facets"]["price"]["max"]) == (4.0, 25.5)
    assert page["facets"]["in_stock"]["values"] == {"false": 1, "true": 1}
    assert lamps.titles(q="lamp", sort="price:asc") == ["Paper lamp", "Brass lamp", "Steel lamp"]
    assert lamps.titles(q="", sort="price:desc", count="2") == ["Steel lamp", "Brass lamp"]
    assert lamps.titles(q="lamp", sort="released:desc")[-1] == "Paper lamp", "those without a value come last"
    assert lamps.titles(q="lamp", sort="brand:desc")[0] == "Steel lamp"


def test_a_document_is_returned_as_it_was_sent(lamps: Server) -> None:
    status, found = lamps.ask("GET", "api/documents/2")
    assert status == 200
    assert found == LAMPS[1]
    assert lamps.ask("GET", "api/documents/none")[0] == 404
    assert lamps.search(q="steel lamp")["results"][0]["document"]["price"] == 25.5


@pytest.mark.parametrize(
    "wrong",
    ["filter=colour:red", "filter=price:cheap", "filter=(brand:acme", "sort=details:asc", "facets=id", "sort=price:up"],
)
def test_wrong_filters_are_refused_with_the_field(lamps: Server, wrong: str) -> None:
    status, answer = lamps.ask("GET", f"api/search?q=lamp&{wrong}")
    assert status == 400
    assert set(answer) == {"error", "hint"}


def test_wrong_lines_are_named_and_the_rest_is_taken(server: Server) -> None:
    good = [lines({"id": "a", "title": "Buoy"}), lines({"id": "c", "title": "Anchor"})]
    body = b"\n".join([good[0], b"not json", b"", lines({"title": "x"}, {"id": "b", "price": "free"}), good[1]])
    status, answer = server.push(body)
    assert (status, answer["taken"], answer["failed"]) == (202, 2, 3)
    assert [error["line"] for error in answer["errors"]] == [2, 4, 5]
    assert "'price' is declared as number" in answer["errors"][2]["error"]
    assert server.titles(q="buoy") == ["Buoy"]
    assert server.push(b"[1, 2]", "application/json")[0] == 400
    assert server.push(b"{}", "text/plain")[0] == 415
    assert server.push(b"{}", "application/json", content_encoding="br")[0] == 400


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_many_are_pushed_compressed_and_again_without_effect(server: Server, encoding: str) -> None:
    documents = [{"id": f"{encoding}-{n}", "title": f"Keel {encoding} {n}", "price": n} for n in range(3_000)]
    plain = json.dumps(documents).encode()
    body = gzip.compress(plain) if encoding == "gzip" else zstandard.ZstdCompressor().compress(plain)
    status, answer = server.push(body, "application/json", content_encoding=encoding)
    assert (status, answer["taken"], answer["status"]) == (202, 3_000, "indexed")
    page = server.search(q=f"keel {encoding}", match="all", facets="price")
    assert page["number_of_results"] == 3_000
    generation = page["generation"]
    assert server.push(body, "application/json", content_encoding=encoding)[1]["taken"] == 3_000
    assert server.search(q=f"keel {encoding}", match="all")["generation"] == generation, "nothing has changed"
    cut_off = server.push(body[: len(body) // 2], "application/json", content_encoding=encoding)[1]
    assert not cut_off.get("complete"), "a body that is cut off is not taken for a whole one"


def test_documents_are_replaced_and_deleted(server: Server) -> None:
    server.push(lines({"id": "x/1", "title": "Old sail"}, {"id": "x/2", "title": "Sail", "brand": "gone"}))
    server.push(lines({"id": "x/1", "title": "New sail"}))
    assert sorted(server.titles(q="sail")) == ["New sail", "Sail"]
    assert server.ask("DELETE", "api/documents/x%2F1")[0] == 200
    status, answer = server.ask("DELETE", "api/documents?filter=brand:gone")
    assert (status, answer["deleted"]) == (202, 1)
    wait_until(lambda: server.ask("GET", f"api/tasks/{answer['task']}")[1]["status"] == "indexed")
    wait_until(lambda: server.search(q="sail")["number_of_results"] == 0)
    assert server.ask("GET", "api/documents/x%2F1")[0] == 404
    assert server.ask("DELETE", "api/documents/x%2F1")[0] == 404


def test_a_schema_that_stored_documents_contradict_is_refused(tmp_path: Path) -> None:
    record = DocumentConverter({}).convert(lines({"id": "1", "price": "cheap"}))
    build_index([record], tmp_path / "index", SETTINGS.index)
    with pytest.raises(BadInput, match=r"'price' cannot be declared as number: 'cheap'.*published.invalid/1"):
        apply_fields(tmp_path, {"price": FieldSettings("number")})
    apply_fields(tmp_path, {"price": FieldSettings("keyword")})
    segment = Index.open(tmp_path / "index").segments[0]
    assert segment.own_fields.with_words("price", FieldSettings("keyword"), ["cheap"]).tolist() == [1], "made later"
