"""`periplus site`: how a token is read, and what is refused."""

import io
from pathlib import Path

import pytest

from periplus.cli import main


@pytest.mark.parametrize("text", ["nonsense\n", "", "\n"])
def test_a_token_is_read_from_standard_input_and_a_wrong_one_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert main(["site", "join", "--name", "tokyo", "--folder", str(tmp_path / "data")]) == 1
    assert "not a token" in capsys.readouterr().err
    assert not (tmp_path / "data" / "site").exists()
