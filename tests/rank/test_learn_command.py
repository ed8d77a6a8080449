"""`periplus rank learn` and `periplus rank models`, from a judged collection and from a data folder."""

import json
import random
from pathlib import Path

import pytest

from index.made_pages import WORDS, random_visits
from periplus.cli import main
from periplus.files import open_data_folder
from periplus.index import build_index
from periplus.rank import list_models
from periplus.settings import IndexSettings
from periplus.signals import Judgement, write_judgement


def make_collection(folder: Path) -> None:
    """Write a collection whose right answers have a long title: something that no weight knows."""
    chance = random.Random(8)
    words = [word for word in WORDS if word.isalpha() and word not in ("the", "of", "and")]
    documents, judged, asked = [], [], []
    for number in range(300):
        title = " ".join(chance.choice(words) for _ in range(chance.choice((2, 6))))
        text = " ".join(chance.choice(words) for _ in range(40))
        documents.append({"id": str(number), "title": title, "text": text})
    for number in range(40):
        query = chance.sample(words, 2)
        asked.append({"id": str(number), "text": " ".join(query)})
        judged += [
            f"{number}\t{document['id']}\t2\n"
            for document in documents
            if set(query) <= set(document["text"].split()) and len(document["title"].split()) == 6
        ]
    folder.mkdir()
    (folder / "docs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    (folder / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in asked))
    (folder / "qrels.tsv").write_text("".join(judged))


def test_a_collection_is_learned_and_its_model_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_collection(tmp_path / "titles")
    data = tmp_path / "data"
    assert main(["learn", "--judgements", str(tmp_path / "titles"), "--folder", str(data)]) == 0
    printed = capsys.readouterr().out
    assert "It is used from now on" in printed
    assert "Features that changed the order: title_words" in printed
    assert "First results that changed" in printed
    cards, used = list_models(data)
    assert (cards[0].sources, cards[0].passed, used) == (("titles",), True, cards[0].name)
    assert cards[0].importance["title_words"] == max(cards[0].importance.values())
    assert main(["rank", "models", "--folder", str(data), "--use", "none", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["used"] == ""


def test_too_little_to_learn_from_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = open_data_folder(tmp_path / "data", create=True)
    visits = random_visits(3, 60)
    build_index(visits, data / "index", IndexSettings())
    for visit in visits[:6]:
        write_judgement(data, Judgement("sea chart", visit.url, 3))
    assert main(["rank", "learn", "--folder", str(data)]) == 1
    assert "1 queries to learn from" in capsys.readouterr().err
    assert main(["rank", "models", "--folder", str(data)]) == 0
    assert "no models yet" in capsys.readouterr().out
