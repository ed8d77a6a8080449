"""Snapshots: the same request gives the same bytes, whatever became of the index since."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from asgi_caller import get

from periplus.app import (
    Engine,
    build_graph_and_index,
    check_data_folder,
    create_snapshot,
    delete_snapshot,
    snapshot_sizes,
)
from periplus.cli import main
from periplus.errors import BadInput
from periplus.files import open_data_folder
from periplus.hashing import fingerprint_text
from periplus.index import read_schema, write_schema
from periplus.records import FetchRecord, Outcome, Page, Query
from periplus.result_rules import RuleStore
from periplus.search import Searcher
from periplus.serve import make_app
from periplus.settings import FieldSettings, ServeSettings, Settings
from periplus.store import PageStore

DAY = 86_400.0
MAY = 1_777_600_000.0
"""On 1 May 2026."""
SETTINGS = Settings()


def record(url: str, title: str, text: str, when: float) -> FetchRecord:
    page = Page(url, title=title, text=text, language="en")
    return FetchRecord(url, fingerprint_text(url), Outcome.OK, when, 200, page=page)


def store(folder: Path, *records: FetchRecord) -> None:
    with PageStore.open(folder / "store", SETTINGS.store, write=True) as pages:
        for one in records:
            pages.append(one, None)
        pages.commit()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = open_data_folder(tmp_path / "data", create=True)
    store(
        folder,
        record("https://a.test/", "The lighthouse", "The lighthouse burns olive oil.", MAY),
        record("https://b.test/", "The harbour", "The harbour has a lighthouse and two moles.", MAY),
    )
    build_graph_and_index(folder, SETTINGS)
    return folder


def serve(folder: Path) -> Any:
    return make_app(Searcher.open(folder, SETTINGS), ServeSettings(threads=2, deadline=60.0))


def change(folder: Path) -> None:
    """Replace one page, add another, and build the index anew."""
    store(
        folder,
        record("https://a.test/", "The lighthouse", "The lighthouse is electric now.", MAY + 9 * DAY),
        record("https://c.test/", "Lighthouse museum", "A lighthouse with an electric lamp.", MAY + 9 * DAY),
    )
    build_graph_and_index(folder, SETTINGS)


def test_the_same_request_gives_the_same_bytes_after_a_rebuild(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create_snapshot(folder, SETTINGS, "spring")
    assert made.documents == 2
    paths = ("/api/search", "/search", "/api/passages", "/search?format=rss")
    targets = [f"{path}{'&' if '?' in path else '?'}q=lighthouse+oil&snapshot=spring" for path in paths]
    before = [get(serve(folder), target).body for target in targets]
    assert b"olive oil" in before[0]
    change(folder)
    app = serve(folder)
    assert [get(app, target).body for target in targets] == before
    later = time.time() + 40 * DAY
    monkeypatch.setattr(
        "periplus.serve.pages.result_pages.time", SimpleNamespace(time=lambda: later, monotonic=time.monotonic)
    )
    assert [get(serve(folder), target).body for target in targets] == before, "ages are those of its day"
    now = get(app, "/api/search?q=lighthouse+electric").json
    assert {result["url"] for result in now["results"]} >= {"https://a.test/", "https://c.test/"}
    assert get(app, "/api/search?q=electric&verbatim=1&snapshot=spring").json["results"] == []
    assert "snapshot=spring" in get(app, "/search?q=lighthouse&snapshot=spring").text, "links stay in the snapshot"
    assert not check_data_folder(folder).faults
    searcher = Searcher.open(folder, SETTINGS)
    assert not searcher.refresh()
    delete_snapshot(folder, "spring")
    assert searcher.refresh(), "cached answers are forgotten"
    assert get(serve(folder), targets[0]).status == 400


def test_publications_and_rules_do_not_change_what_a_snapshot_answers(folder: Path) -> None:
    write_schema(folder / "index", {"keeper": FieldSettings("keyword")})
    rules = RuleStore(folder)
    rules.set_server_ids([rules.add("block b.test").id])
    create_snapshot(folder, SETTINGS, "spring")
    query = Query("lighthouse", snapshot="spring")
    before = Searcher.open(folder, SETTINGS).search(query)
    assert [result.url for result in before.hits] == ["https://a.test/"]
    engine = Engine(folder, SETTINGS)
    assert engine.publish("Lighthouse news", "The lighthouse has a new lamp.").searchable
    engine.publish("The lighthouse", "The lighthouse is closed.", url="https://a.test/")
    rules.set_server_ids([])
    searcher = Searcher.open(folder, SETTINGS)
    assert searcher.search(query) == before
    assert len(searcher.search(Query("lighthouse")).hits) == 3
    own = rules.add("block a.test").id
    assert searcher.search(msgspec.structs.replace(query, rules=(own,))).hits == (), "added after the snapshot"
    assert read_schema(folder / "snapshots" / "spring" / "index").keys() == {"keeper"}
    assert not check_data_folder(folder).faults


def test_settings_of_ranking_are_those_of_the_snapshot(folder: Path) -> None:
    create_snapshot(folder, SETTINGS, "spring")
    query = Query("lighthouse oil", snapshot="spring")
    before = Searcher.open(folder, SETTINGS).search(query)
    search = msgspec.structs.replace(SETTINGS.search, snippet_chars=40, max_results=10)
    after = Searcher.open(folder, msgspec.structs.replace(SETTINGS, search=search)).search(query)
    assert after == before


def test_a_date_is_answered_from_the_versions_of_that_date(folder: Path) -> None:
    change(folder)
    create_snapshot(folder, SETTINGS, "may", "2026-05-02")
    app = serve(folder)
    then = get(app, "/api/search?q=lighthouse&as_of=2026-05-02").json
    assert [result["url"] for result in then["results"] if "olive oil" in result["content"]] == ["https://a.test/"]
    assert not any("c.test" in result["url"] for result in then["results"])
    assert then["notes"] == []
    later = get(app, "/api/search?q=lighthouse&as_of=2026-05-20").json
    assert later["results"] == then["results"]
    assert later["notes"] == ["From the snapshot may, the last one up to 2026-05-20."]
    page = get(app, "/search?q=lighthouse&as_of=2026-05-20").text
    assert page.count('<input type="hidden" name="as_of" value="2026-05-20">') == 2  # of the field and of the filters
    named = get(app, "/search?q=lighthouse&snapshot=may").text
    assert named.count('<input type="hidden" name="snapshot" value="may">') == 2
    none = get(app, "/api/search?q=lighthouse&as_of=2026-04-30")
    assert none.status == 400
    assert "--as-of 2026-04-30" in none.json["hint"]


@pytest.mark.parametrize(
    "parameters",
    ["snapshot=..%2F..", "snapshot=none", "snapshot=UP", "as_of=2026-13-01", "as_of=x", "as_of=2026-05-01&snapshot=a"],
)
def test_an_invalid_snapshot_is_refused_and_never_another_one_searched(folder: Path, parameters: str) -> None:
    app = serve(folder)
    assert get(app, f"/api/search?q=lighthouse&{parameters}").status == 400
    assert get(app, f"/search?q=lighthouse&{parameters}").status == 400


def test_commands_names_and_sizes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(folder)]
    assert main(["snapshot", "create", "first", *options]) == 0
    assert "Made first: 2 pages." in capsys.readouterr().out
    assert main(["snapshot", "create", "first", *options]) == 1
    assert "already" in capsys.readouterr().err
    for name in ("../x", "", "A", ".x", "x" * 65):
        with pytest.raises(BadInput):
            create_snapshot(folder, SETTINGS, name)
    shared = snapshot_sizes(folder)[0]
    assert shared.own < shared.bytes, "files of the index are linked, not copied"
    change(folder)
    assert snapshot_sizes(folder)[0].own > shared.own, "now only the snapshot has them"
    assert main(["snapshot", "list", "--json", *options]) == 0
    assert json.loads(capsys.readouterr().out)[0]["snapshot"]["name"] == "first"
    damaged = next((folder / "snapshots" / "first" / "index").glob("seg-*")) / "documents.arrays"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    assert any("snapshots/first" in fault.path for fault in check_data_folder(folder).faults)
    assert main(["repair", *options]) == 1
    assert "periplus snapshot delete" in "".join(capsys.readouterr())
    assert damaged.read_bytes() == data, "nothing repairs a snapshot"
    assert main(["snapshot", "delete", "first", *options]) == 0
    assert not (folder / "snapshots" / "first").exists()
    assert main(["snapshot", "delete", "first", *options]) == 1
