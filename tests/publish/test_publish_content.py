"""Published content: by the SHA-256 of its bytes, with metadata that lasts, changed by its publisher only."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.errors import BadInput, NotOwner
from periplus.publish import ContentPublisher, Publication
from periplus.publish.content_files import ContentMetadata
from periplus.publish.publication import check_date
from periplus.records import FetchRecord, Outcome
from periplus.settings import Settings
from periplus.url import parse_address

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


class RecordingPublisher:
    """A publisher, and the records that it handed over."""

    def __init__(self, folder: Path) -> None:
        self.records: list[FetchRecord] = []
        self.publisher = ContentPublisher(folder, Settings().parse, self.records.append)


@pytest.fixture
def recorder(tmp_path: Path) -> RecordingPublisher:
    return RecordingPublisher(tmp_path)


def test_the_id_is_the_hash_of_the_content_and_both_are_on_disk(recorder: RecordingPublisher, tmp_path: Path) -> None:
    given = Publication(
        "Tides", "High water.", description="When", author="Eratosthenes", date="2026-05", tags=("sea",)
    )
    made = recorder.publisher.publish(given, "key-1").metadata
    assert made.id == hashlib.sha256(b"High water.").hexdigest()
    path = tmp_path / "published" / made.id[:2] / made.id
    assert path.read_bytes() == recorder.publisher.read(made.id) == b"High water."
    assert json.loads(path.with_suffix(".json").read_text())["title"] == "Tides"
    page = recorder.records[0].page
    assert page is not None
    assert page.url == f"https://published.invalid/{made.id}"
    assert (page.headings, page.emphasis) == (("When",), ("sea", "Eratosthenes")), "metadata is searched"
    assert (page.published, page.author) == ("2026-05-01", "Eratosthenes")


def test_published_twice_it_is_published_once(recorder: RecordingPublisher) -> None:
    first, second = (recorder.publisher.publish(Publication("Tides", "High water."), "key-1") for _ in range(2))
    assert (first.changed, second.changed) == (True, False)
    assert len({record.key for record in recorder.records}) == 1
    assert second.metadata == first.metadata


def publish_at(recorder: RecordingPublisher, *urls: str) -> ContentMetadata:
    for url in urls:
        made = recorder.publisher.publish(Publication("Tides", "High water.", url=url), "key-1").metadata
    return made


def outcomes(recorder: RecordingPublisher) -> dict[str, Outcome]:
    return {record.url: record.outcome for record in recorder.records}


def test_removing_content_removes_it_at_all_urls(recorder: RecordingPublisher) -> None:
    made = publish_at(recorder, "https://a.test/1", "https://a.test/2", "https://a.test/3", "https://a.test/1")
    assert (made.url, made.other_urls) == ("https://a.test/1", ("https://a.test/2", "https://a.test/3"))
    recorder.publisher.publish(Publication("Winds", "From the north.", url="https://a.test/2"), "key-1")
    with pytest.raises(NotOwner):
        recorder.publisher.remove(made, "key-2")
    recorder.publisher.remove(made, "key-1")
    gone = [url for url, outcome in outcomes(recorder).items() if outcome is Outcome.GONE]
    assert gone == ["https://a.test/1", "https://a.test/3"], "other content is at the second one now"
    assert recorder.publisher.find(made.id) is None
    assert recorder.publisher.find_url(parse_address("https://a.test/3").key) is None


def test_removing_one_page_leaves_the_others(recorder: RecordingPublisher) -> None:
    made = publish_at(recorder, "https://a.test/1", "https://a.test/2")
    with pytest.raises(NotOwner):
        recorder.publisher.remove_page(made, parse_address("https://a.test/2").key, "key-2")
    assert recorder.publisher.remove_page(made, parse_address("https://a.test/2").key, "key-1")
    assert outcomes(recorder) == {"https://a.test/1": Outcome.OK, "https://a.test/2": Outcome.GONE}
    left = recorder.publisher.find(made.id)
    assert left is not None
    assert (left.url, left.other_urls) == ("https://a.test/1", ())
    assert recorder.publisher.remove_page(left, parse_address("https://a.test/1").key, "key-1")
    assert recorder.publisher.find(made.id) is None


def test_the_urls_of_content_are_bounded(recorder: RecordingPublisher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("periplus.publish.content_publisher._MAX_URLS", 3)
    with pytest.raises(BadInput, match="3 URLs"):
        publish_at(recorder, *(f"https://a.test/{n}" for n in range(4)))


def test_the_same_text_at_two_urls_is_two_pages(recorder: RecordingPublisher) -> None:
    for url in ("", "https://a.test/1", "https://a.test/2"):
        recorder.publisher.publish(Publication("Tides", "High water.", url=url), "key-1")
    state = {record.url: record.outcome for record in recorder.records}
    assert state.pop("https://a.test/1") == state.pop("https://a.test/2") == Outcome.OK
    assert list(state.values()) == [Outcome.GONE], "it had no URL of its own before"
    made = recorder.publisher.find_url(recorder.records[2].key)
    assert made is not None
    assert (made.url, made.other_urls) == ("https://a.test/2", ("https://a.test/1",))


def test_published_again_it_keeps_what_is_not_said_anew(recorder: RecordingPublisher) -> None:
    recorder.publisher.publish(Publication("Tides", "High water.", author="Pytheas", tags=("sea",)), "key-1")
    again = recorder.publisher.publish(Publication("", "High water.", description="At noon"), "key-1")
    made = again.metadata
    assert again.changed
    assert (made.title, made.author, made.tags, made.description) == ("Tides", "Pytheas", ("sea",), "At noon")


def test_only_its_publisher_changes_it(recorder: RecordingPublisher) -> None:
    made = recorder.publisher.publish(Publication("Tides", "High water.", "https://a.example/"), "key-1").metadata
    with pytest.raises(NotOwner):
        recorder.publisher.publish(Publication("Mine", "High water."), "key-2")
    with pytest.raises(NotOwner):
        recorder.publisher.publish(Publication("Mine", "Another text.", "https://a.example/"), "key-2")
    with pytest.raises(NotOwner):
        recorder.publisher.remove(made, "key-2")
    recorder.publisher.remove(made, "admin", owns_all=True)
    assert recorder.publisher.find(made.id) is None
    assert recorder.records[-1].outcome is Outcome.GONE
    assert recorder.publisher.publish(Publication("Mine", "High water."), "key-2").changed


@pytest.mark.parametrize(
    "given_",
    [
        Publication("Empty", " \n\t"),
        Publication("Date", "x", date="2026-13"),
        Publication("Date", "x", date="yesterday"),
        Publication("", "no title"),
        Publication("Link", url="https://a.example/film.mp4"),
        Publication("Program", file=b"\x7fELF" + b"\0" * 100, name="a.out"),
        Publication("Control", "bell \x07"),
    ],
)
def test_what_is_refused(recorder: RecordingPublisher, given_: Publication) -> None:
    with pytest.raises(BadInput):
        recorder.publisher.publish(given_)
    assert recorder.records == []


def test_media_are_described_and_not_fetched(recorder: RecordingPublisher) -> None:
    link = recorder.publisher.publish(
        Publication("Film", url="https://a.example/f.mp4", description="Ships at sea")
    ).metadata
    assert (link.type, recorder.publisher.read(link.id)) == ("text/uri-list", b"https://a.example/f.mp4\r\n")
    image = recorder.publisher.publish(Publication("Map", description="A coast", file=PNG, name="map.exe")).metadata
    assert (image.type, image.name) == ("image/png", "map.exe"), "by its bytes, not by its name"
    pages = [record.page for record in recorder.records]
    assert [(page.title, page.text or page.description) for page in pages if page] == [
        ("Film", "Ships at sea"),
        ("Map", "A coast"),
    ]


def test_an_html_file_is_indexed_by_its_text(recorder: RecordingPublisher) -> None:
    html = b"<html><head><title>The coast</title></head><body><p>Salt and grain.</p><script>x()</script></body></html>"
    made = recorder.publisher.publish(Publication(file=html, name="coast.html")).metadata
    page = recorder.records[0].page
    assert page is not None
    assert (made.title, made.type, page.text.strip()) == ("The coast", "text/html", "Salt and grain.")


@given(st.text(max_size=40))
def test_any_text_is_a_date_or_refused(text: str) -> None:
    try:
        assert check_date(text) == "" or len(check_date(text)) >= 10
    except BadInput:
        pass
