"""Schemathesis asks everything that /openapi.json describes, in every way it can think of: never a fault of ours."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import schemathesis
from fake_searcher import FakeSearcher
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode

from periplus.app.administration.server_operations import ServerOperations
from periplus.app.serving.collection_service import CollectionService
from periplus.app.serving.document_service import DocumentService
from periplus.evaluate import QueryDiagnosis
from periplus.files import open_data_folder
from periplus.publish import background_publisher
from periplus.records import VisitReport
from periplus.result_rules import RuleStore
from periplus.search import Searcher
from periplus.serve import Actions, ApiKeys, CrawlLimits, HealthReport, PublishReceipt, background_server
from periplus.settings import ServeSettings, Settings
from periplus.url import parse_address


class Crawl:
    def status(self) -> dict[str, Any]:
        return {"running": True, "state": "running"}

    def pause(self) -> None:
        pass

    resume = stop = pause

    def start(self, seeds: Sequence[str] = (), limits: CrawlLimits | None = None) -> None:
        for seed in seeds:
            parse_address(seed)


def report(seen: Sequence[VisitReport]) -> tuple[int, int]:
    return len(seen), 0


KEYS = ApiKeys(None)
SECRET = KEYS.add("all", "admin")
WEATHER = b'{"current": {"temperature_2m": 11.4}}'
ACTIONS = Actions(
    lambda given, *_: PublishReceipt("ab" * 32, given.url, "00000000000000ab"),
    lambda *_: None,
    report,
    Crawl(),
    judge=lambda given: True,
    click=lambda given, source=0: True,
    fetch=lambda url: WEATHER,
    why=lambda query, url: QueryDiagnosis(query.words, parse_address(url).url, "ranked", "It is result 1 of 2."),
)
SETTINGS = ServeSettings(
    port=0,
    clicks=True,
    weather="http://weather.example/{latitude}/{longitude}",
    geocoder="http://places.example/{name}",
)


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = open_data_folder(tmp_path_factory.mktemp("schema") / "data", create=True)
    documents = DocumentService(folder, Searcher.open(folder, Settings(), may_be_empty=True), Settings())
    operations = ServerOperations(folder, Settings(), lambda: 1, Crawl().status, HealthReport)
    collections = CollectionService(folder, Settings())
    collections.create("public", {}, public=True)
    actions = ACTIONS._replace(
        documents=documents, collections=collections, rules=RuleStore(folder), operations=operations
    )
    with background_publisher(folder, Settings()), background_server(FakeSearcher(), SETTINGS, actions, KEYS) as url:
        yield schemathesis.openapi.from_url(url + "openapi.json")


def test_every_request_is_answered_as_documented(schema: Any) -> None:
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 62
    statuses: dict[str, set[int]] = {}
    for operation in operations:
        described = {int(status) for status in operation.definition.raw["responses"]}
        few = "{collection}/" in operation.label  # the same handlers as those of the main index
        statuses[operation.label] = ask_everything(operation, GenerationMode.POSITIVE, described, 3 if few else 7)
        ask_everything(operation, GenerationMode.NEGATIVE, described | {404, 405, 414, 422, 431}, 3 if few else 7)
    by_key = (
        "GET /api/page",
        "GET /api/verify",
        "GET /api/documents/{id}",
        "DELETE /api/documents/{id}",
        "GET /api/rules/{id}",
    )
    assert statuses.pop("DELETE /api/keys/{name}") <= {200, 400}, "most names are those of no key"
    assert statuses.pop("PUT /api/blocked-hosts/{host}") <= {200, 400}, "most texts are no host"
    assert statuses.pop("DELETE /api/blocked-hosts/{host}") <= {200, 404}
    named = [label for label in statuses if "{collection}" in label or "{alias}" in label]
    looked_up = {label: statuses.pop(label) for label in (*by_key, *named)}
    looked_up.pop("PUT /api/aliases/{alias}")  # its collection is in the body
    assert statuses.pop("POST /api/aliases") <= {200, 400, 415}, "most names are no collection"
    assert statuses.pop("GET /api/weather") <= {200, 400, 404}, "most names are no places"
    assert statuses.pop("POST /api/keys") <= {201, 400}, "most keys cannot be limited"
    assert statuses.pop("GET /api/why") <= {200, 400}, "most texts are no URL"
    assert statuses.pop("POST /api/rules") <= {201, 400}, "most texts are no rules"
    assert all(404 in seen for seen in looked_up.values()), "nobody guesses the key of a page"
    assert all(min(seen) < 300 for seen in statuses.values()), [
        item for item in statuses.items() if min(item[1]) >= 300
    ]


def ask_everything(operation: Any, mode: Any, described: set[int], examples: int) -> set[int]:
    """Ask one operation in many ways, right or wrong; give the statuses that came back."""
    seen = set[int]()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        answer = case.call(headers={"authorization": f"Bearer {SECRET}"}, timeout=60)
        assert answer.status_code in described - {500, 501, 503}, answer.text
        seen.add(answer.status_code)

    with contextlib.suppress(Unsatisfiable):  # where nothing can be wrong, nothing wrong can be asked
        ask()
    return seen
