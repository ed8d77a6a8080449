"""Judged collections through the whole pipeline."""

import json
from pathlib import Path

import pytest

from periplus.errors import BadFile
from periplus.evaluate import evaluate
from periplus.settings import Settings


def write(folder: Path, docs: str, queries: str, qrels: str) -> Path:
    (folder / "docs.jsonl").write_text(docs)
    (folder / "queries.jsonl").write_text(queries)
    (folder / "qrels.tsv").write_text(qrels)
    return folder


DOCS = """{"id": "a b", "title": "Tides", "text": "The tide comes in."}
{"id": "c", "text": "Bread and salt."}
{"id": 7, "title": "Fog", "text": "Fog on the tide."}
"""


def test_a_small_collection_is_scored(tmp_path: Path) -> None:
    queries = '{"id": 1, "text": "tides"}\n\n{"id": "2", "text": "bread"}\n{"id": "3", "text": "?"}\n'
    folder = write(tmp_path, DOCS, queries, "1\ta b\t2\n1\tc\t0\n2\tc\t1\n3\tc\t0\n")
    run = tmp_path / "run.txt"
    quality = evaluate(folder, Settings(), run=run)
    assert (quality.documents, quality.queries) == (3, 2)
    assert quality.ndcg == quality.mrr == quality.recall == 1.0
    assert [line.split()[0] for line in run.read_text().splitlines()].count("1") == 2


def test_words_of_ids_are_not_searched(tmp_path: Path) -> None:
    docs = '{"id": "treasure", "text": "nothing here"}\n{"id": "x", "text": "a treasure"}\n'
    folder = write(tmp_path, docs, '{"id": "1", "text": "treasure"}\n', "1\tx\t1\n")
    run = tmp_path / "run.txt"
    evaluate(folder, Settings(), run=run)
    assert len(run.read_text().splitlines()) == 1


def test_a_query_that_matches_nothing_is_relaxed_as_a_server_relaxes_it(tmp_path: Path) -> None:
    queries = '{"id": "1", "text": "articles about \\"salt bread\\" and its tide, for instance"}\n'
    folder = write(tmp_path, DOCS, queries, "1\tc\t1\n")
    assert evaluate(folder, Settings()).recall == 1.0


@pytest.mark.parametrize("missing", ["docs.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path, DOCS, '{"id": "1", "text": "tide"}\n', "1\tc\t1\n")
    (folder / missing).unlink()
    with pytest.raises(BadFile, match=missing.partition(".")[0]):
        evaluate(folder, Settings())


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path, DOCS + "{broken\n", '{"id": "1", "text": "tide"}\n', "1\tc\t1\n")
    with pytest.raises(BadFile, match=r"docs\.jsonl line 4"):
        evaluate(folder, Settings())


def sample(collection: Path, folder: Path, every: int) -> Path:
    """Copy a collection with all of its documents and every n-th of its queries."""
    queries = (collection / "queries.jsonl").read_text("utf-8").splitlines(keepends=True)[::every]
    kept = {str(json.loads(query)["id"]) for query in queries}
    qrels = (collection / "qrels.tsv").read_text("utf-8").splitlines(keepends=True)
    asked = [line for line in qrels if line.partition("\t")[0] in kept]
    return write(folder, (collection / "docs.jsonl").read_text("utf-8"), "".join(queries), "".join(asked))


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "every", "ndcg", "reciprocal"),
    [("cranfield", 1, 0.40, 0.75), ("squad11_dev", 8, 0.85, 0.82), ("xquad_zh", 1, 0.92, 0.90)],
)
def test_judged_collections_reach_their_bars(
    shared_data: Path, tmp_path: Path, name: str, every: int, ndcg: float, reciprocal: float
) -> None:
    """Of the 10,570 queries of SQuAD, an eighth is about as many as the other two have."""
    quality = evaluate(sample(shared_data / "ir" / name, tmp_path, every), Settings())
    assert quality.ndcg >= ndcg
    assert quality.mrr >= reciprocal
