"""`periplus keys`."""

import json
from pathlib import Path

import pytest

from periplus.cli import main
from periplus.serve import ApiKeys


def test_keys_are_made_listed_and_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--folder", str(tmp_path / "data")]
    assert main(["keys", "add", "me", "publish", *folder]) == 0
    secret = capsys.readouterr().out.strip()
    assert ApiKeys(tmp_path / "data").find(secret) is not None
    assert main(["keys", "list", "--json", *folder]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(key["name"], key["role"]) for key in listed] == [("me", "publish")]
    assert secret not in str(listed)
    assert main(["keys", "list", *folder]) == 0
    assert "me" in capsys.readouterr().out
    assert main(["keys", "add", "me", "king", *folder]) == 1
    assert "Roles are publish" in capsys.readouterr().err
    assert main(["keys", "remove", "me", *folder]) == 0
    assert main(["keys", "remove", "me", *folder]) == 1
    assert main(["keys", "list", *folder]) == 0
    assert "There are no keys" in capsys.readouterr().out
