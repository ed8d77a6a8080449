"""`periplus keys` and `periplus collection`."""

import json
import re
from pathlib import Path

import pytest

from periplus.app.administration.change_log import ChangeLog
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
    assert "Roles are read, publish" in capsys.readouterr().err
    assert main(["keys", "remove", "me", *folder]) == 0
    assert main(["keys", "remove", "me", *folder]) == 1
    assert main(["keys", "list", *folder]) == 0
    assert "There are no keys" in capsys.readouterr().out


def test_collections_are_made_listed_named_and_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--folder", str(tmp_path / "data")]
    assert main(["collection", "create", "books_1", "--field", "author_name", "--field", "price:number", *folder]) == 0
    assert main(["collection", "create", "books_1", *folder]) == 1
    assert main(["collection", "create", "../x", *folder]) == 1
    assert main(["collection", "create", "x", "--field", "price:colour", *folder]) == 1
    assert main(["collection", "alias", "books", "books_1", *folder]) == 0
    capsys.readouterr()
    assert main(["collection", "list", "--json", *folder]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["name"], listed["public"], listed["aliases"]) == ("books_1", False, ["books"])
    assert {name: field["type"] for name, field in listed["fields"].items()} == {
        "author_name": "keyword",
        "price": "number",
    }
    assert main(["collection", "delete", "books_1", *folder]) == 1, "an alias stands for it"
    assert main(["collection", "unalias", "books", *folder]) == 0
    assert main(["collection", "delete", "books_1", *folder]) == 0
    assert main(["keys", "add", "web", "read", "--collections", "books, books_*", *folder]) == 0
    assert ApiKeys(tmp_path / "data").all()[0].collections == ("books", "books_*")
    changes = ChangeLog(tmp_path / "data").latest()
    assert all(re.fullmatch(r"terminal \(\w+\)", change.who) for change in changes)
    assert [(change.what, change.detail) for change in reversed(changes)] == [
        ("create a collection", "books_1"),
        ("change aliases", "books is books_1"),
        ("change aliases", "no books"),
        ("delete a collection", "books_1"),
        ("add a key", "web (read, only books books_*)"),
    ], "what failed is not among them"
