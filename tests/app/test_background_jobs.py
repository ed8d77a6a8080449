"""Jobs of `periplus up` in processes of their own: what fails is reported, and started again."""

from pathlib import Path

import pytest

from conditions import wait_until
from periplus.app.observer import Observer, SilentObserver
from periplus.app.serving import background_jobs
from periplus.app.serving.background_jobs import background_job
from periplus.errors import PeriplusError
from periplus.supervision import Backoff


class Messages(SilentObserver):
    """Collects what is reported."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def message(self, text: str) -> None:
        """Add a line."""
        self.texts.append(text)


def fail_once(marker: Path, observer: Observer) -> None:
    """Fail with an error of Periplus at the first start, work at the second."""
    if not marker.exists():
        marker.touch()
        raise PeriplusError("The disk refused a file.", "Check the disk.")
    observer.message("at work")


def fail_unexpectedly(observer: Observer) -> None:
    """Fail with what nobody expected."""
    raise ZeroDivisionError("by zero")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_jobs, "Backoff", lambda *_: Backoff(0.01, 0.01))


def test_an_error_is_reported_without_a_traceback_and_the_job_starts_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    messages = Messages()
    with background_job(messages, "a job", fail_once, tmp_path / "marker"):
        wait_until(lambda: "at work" in messages.texts)
    assert "a job: The disk refused a file. Check the disk.; it is started again" in caplog.text
    assert "Traceback" not in capfd.readouterr().err


def test_what_nobody_expected_is_reported_with_a_traceback(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with background_job(Messages(), "a job", fail_unexpectedly):
        wait_until(lambda: "ZeroDivisionError: by zero" in caplog.text)
    assert "Traceback" in capfd.readouterr().err
