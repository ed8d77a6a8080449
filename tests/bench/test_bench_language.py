"""The texts that the benchmark of language identification makes."""

import json
from pathlib import Path

import language
from language import TextSet


def test_keywords_are_the_rarest_words_without_stop_words_and_names() -> None:
    text = "The old lighthouse of Brest stands above the harbour and its keeper trims lamps every evening"
    english = TextSet("paragraphs", "a", "en", [text, "The lamps of the harbour"])
    french = TextSet("paragraphs", "b", "fr", ["Le phare de Brest"])
    names = language.find_names([english, french])
    assert names == {"Brest"}
    keywords = "evening, every, keeper, lighthouse, old, stands, trims, harbour"
    assert language.list_keywords(english, names) == [keywords]


def test_texts_of_a_corpus_are_paragraphs_titles_and_what_is_made_of_them(tmp_path: Path) -> None:
    text = "Le phare se dresse au bout de la jetée, sa lampe tourne chaque nuit, les pêcheurs rentrent avant la tempête"
    line = json.dumps({"title": "Un phare", "text": text})
    (tmp_path / "fr.jsonl").write_text(line + "\n\n" + json.dumps({"text": ""}) + "\n", "utf-8")
    sets = language.read_sets(tmp_path, [(tmp_path / "fr.jsonl", "fr")], 10)
    assert {each.kind: len(each.texts) for each in sets} == {
        "paragraphs": 1,
        "titles": 1,
        "keywords": 1,
        "beginnings": 1,
    }
    assert next(each.texts for each in sets if each.kind == "beginnings") == ["Le phare se dresse au"]
    rows = language.measure(sets, {"periplus": language.by_periplus})
    assert all(row["periplus, with site"] == 100 for row in rows)
