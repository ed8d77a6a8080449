"""What fails in the background is seen from outside: /readyz, /metrics, refused publications, `periplus doctor`."""

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from asgi_caller import get
from fake_searcher import FakeSearcher

from conditions import wait_until
from periplus.app.diagnosis import examine_installation
from periplus.app.serving.server_actions import server_actions
from periplus.errors import Overloaded
from periplus.health import Part, PartHealth, part, share_health
from periplus.publish import Inbox, make_published_record
from periplus.serve import Actions, HealthReport, PublishRequest, make_app
from periplus.settings import ServeSettings, Settings


@pytest.fixture
def publisher() -> Iterator[Part]:
    yield part("publisher")
    part("publisher").recover()


def test_a_failing_part_degrades_the_server_and_is_counted() -> None:
    failing = PartHealth("publisher", 3, 4, time.time(), "Cannot write /secret/index.")
    well = PartHealth("crawl", 1, 1)
    actions = Actions(health=lambda: HealthReport([failing, well], 7, 2))
    app = make_app(FakeSearcher(), ServeSettings(threads=1), actions)
    get(app, "/metrics")  # reads the health, as is done once a second
    ready = get(app, "/readyz")
    assert ready.status == 200
    assert ready.json["status"] == "degraded"
    assert [entry["part"] for entry in ready.json["failing"]] == ["publisher"]
    assert "secret" not in ready.text
    lines = get(app, "/metrics").text.splitlines()
    assert 'periplus_restarts_total{part="publisher"} 3' in lines
    assert 'periplus_failures_total{part="crawl"} 1' in lines
    assert 'periplus_failing{part="publisher"} 1' in lines
    assert 'periplus_failing{part="crawl"} 0' in lines
    assert "periplus_inbox_pending 7" in lines
    assert "periplus_inbox_damaged 2" in lines


def test_pages_are_refused_while_the_publisher_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publisher: Part
) -> None:
    monkeypatch.setattr("periplus.app.serving.server_actions._PATIENCE", 0.0)
    monkeypatch.setattr("periplus.app.serving.server_actions._HEALTH_SECONDS", 0.0)
    publish = server_actions(tmp_path, FakeSearcher(), Settings()).publish
    assert publish is not None
    publish(PublishRequest("Tides", "High water."))
    publisher.fail("The disk is full.")
    with pytest.raises(Overloaded, match="publisher"):
        publish(PublishRequest("Tides", "Low water."))
    publisher.recover()
    publish(PublishRequest("Tides", "Low water."))
    assert Inbox(tmp_path).statistics().pending == 2


def test_the_doctor_names_what_fails_and_what_is_damaged(tmp_path: Path, publisher: Part) -> None:
    inbox = Inbox(tmp_path)
    inbox.add_record(make_published_record("Tides", "High water."))
    (path,) = (tmp_path / "inbox").iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert list(inbox.pending_records()) == []
    settings = msgspec.structs.replace(Settings(), folder=str(tmp_path))
    with share_health(tmp_path):
        publisher.fail("The disk is full.")
        wait_until(lambda: Inbox(tmp_path).statistics().damaged == 1)
        findings = {finding.name: finding for finding in examine_installation(settings)}
    assert findings["Inbox"].state == "bad"
    assert "1 damaged" in findings["Inbox"].detail
    assert findings["Part 'publisher'"].state == "bad"
    assert "The disk is full." in findings["Part 'publisher'"].detail
