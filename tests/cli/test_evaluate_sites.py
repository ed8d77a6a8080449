"""`periplus evaluate sites`: records and simulations in, a table and a report out; `evaluate FOLDER` is as before."""

import json

import numpy as np
import pytest

from periplus.cli import main
from periplus.signals import Click, write_click
from periplus.sites import MetricLog, QueryAnswer, SiteLocation


@pytest.fixture
def folder(tmp_path):
    with MetricLog(tmp_path / "data") as log:
        log.write(SiteLocation(1.0, "zurich", 47.4, 8.5))
        for number in range(10):
            log.write(QueryAnswer(float(number), "zurich", number, 0.05, ("madrid",) if number > 6 else (), False, 2))
    return tmp_path / "data"


def test_records_of_a_site(folder, tmp_path, capsys):
    report = tmp_path / "report.html"
    assert main(["evaluate", "sites", str(folder), "--report", str(report)]) == 0
    output = capsys.readouterr().out
    assert "Query locality (QL)" in output
    assert "70.0%" in output
    assert "Query locality over time" in report.read_text("utf-8")
    for position in (1, 12):
        assert write_click(folder, Click(f"query {position}", "http://a.test/", position))
    assert main(["evaluate", "sites", str(folder), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["query_locality"], figures["top_k_precision"]) == (0.7, 0.5)


def test_simulations(tmp_path, capsys):
    rng = np.random.default_rng(1)
    links = rng.integers(0, 3_000, (9_000, 2))
    graph = tmp_path / "edges.tsv"
    graph.write_text("".join(f"{source}\t{target}\n" for source, target in links))
    collection = tmp_path / "tiny"
    collection.mkdir()
    documents = [{"id": str(n), "title": f"word{n % 9}", "text": f"word{n % 9} other{n}"} for n in range(60)]
    (collection / "docs.jsonl").write_text("\n".join(map(json.dumps, documents)))
    queries = [{"id": str(n), "text": f"word{n}"} for n in range(9)]
    (collection / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (collection / "qrels.tsv").write_text("\n".join(f"{n % 9}\t{n}\t1" for n in range(60)))
    assert main(["evaluate", "sites", "--graph", str(graph), "--collection", str(collection)]) == 0
    output = capsys.readouterr().out
    for text in ("nearest", "TDT in s", "Placement precision (P)", "URLs that only people discovered (PO)", "mean ms"):
        assert text in output


def test_nothing_to_evaluate(tmp_path, capsys):
    assert main(["evaluate", "sites"]) == 1
    assert "There is nothing to evaluate." in capsys.readouterr().err
    assert main(["evaluate", "sites", str(tmp_path)]) == 1
    assert "has no records of a site" in capsys.readouterr().err


def test_ranking_is_what_a_folder_alone_means(tmp_path, capsys):
    for arguments in (["evaluate", str(tmp_path)], ["evaluate", "ranking", str(tmp_path)]):
        assert main(arguments) == 1
        assert "has no docs.jsonl" in capsys.readouterr().err
    assert main(["evaluate"]) == 2
    assert "Missing argument 'folders'" in capsys.readouterr().err
    assert main(["evaluate", "--help"]) == 0
    assert "sites" in capsys.readouterr().out
