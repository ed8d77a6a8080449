"""Several rankings of one collection: figures by hand, the bootstrap on data whose truth is known, and the report."""

import json
import math
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from periplus.cli import main
from periplus.errors import BadInput
from periplus.evaluate import (
    FIRST_STAGE,
    FULL_PIPELINE,
    Evaluation,
    QueryRunner,
    ablations,
    average_gain,
    average_gains,
    evaluate_variants,
    paired_difference,
    record_quality,
    select_variants,
    standard_variants,
    write_report,
)
from periplus.evaluate.rankings import Rankings, make_judgements, score
from periplus.settings import Settings

DOCS = """{"id": "a", "title": "Tides", "text": "The tide comes in at noon."}
{"id": "b", "title": "Bread", "text": "Bread and salt, and the tide of time."}
{"id": "c", "title": "Fog", "text": "Fog over the harbour light."}
{"id": "d", "title": "Harbour", "text": "A harbour with boats."}
"""
QUERIES = """{"id": "1", "text": "tides"}
{"id": "2", "text": "harbour <fog>"}
{"id": "3", "text": "bread"}
{"id": "4", "text": "nobody judged this"}
"""
QRELS = "1\ta\t2\n1\tb\t1\n2\tc\t1\n2\tgone\t1\n3\tb\t1\n4\tb\t0\n"


def write_collection(parent: Path) -> Path:
    folder = parent / "harbour"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(DOCS)
    (folder / "queries.jsonl").write_text(QUERIES)
    (folder / "qrels.tsv").write_text(QRELS)
    return folder


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return write_collection(tmp_path)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """The evaluation of all variants, for tests that only read it."""
    return judged(write_collection(tmp_path_factory.mktemp("judged")))


def test_scores_of_each_query_by_hand() -> None:
    judgements = make_judgements({"q": {"a": 2, "b": 0, "c": 1, "gone": 1}, "r": {"b": -1}}, ["a", "b", "c"])
    assert judgements.queries == ("q",)
    found = score(Rankings(np.array([[1, 2, 0, -1]], np.int32), np.array([[3, 2, 1, 0]], np.float32)), judgements)
    best = 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found.ndcg[0] == pytest.approx((1 / math.log2(3) + 2 / math.log2(4)) / best)
    assert found.recall[0] == pytest.approx(2 / 3)
    assert found.mrr[0] == 0.5


def test_a_document_that_is_there_twice_counts_once() -> None:
    judgements = make_judgements({"q": {"a": 1, "b": 1}}, ["a", "b", "a"])
    found = score(Rankings(np.array([[0, 2, 1]], np.int32), np.array([[3, 2, 1]], np.float32)), judgements)
    assert found.recall[0] == 1.0
    assert found.ndcg[0] == pytest.approx(1.0)


def test_the_bootstrap_is_calibrated() -> None:
    """Where nothing lies between two rankings, p is below 0.05 once in twenty; intervals hold the truth 19 times."""
    chance = np.random.default_rng(5)
    rounds, shift = 250, 0.03
    surprised = covered = 0
    for number in range(rounds):
        theirs = chance.random(80)
        noise = chance.normal(0.0, 0.2, 80)
        surprised += paired_difference(theirs + noise, theirs, 500, number).p < 0.05
        found = paired_difference(theirs + noise + shift, theirs, 500, number)
        covered += found.low <= shift <= found.high
    assert 0.02 <= surprised / rounds <= 0.09
    assert 0.91 <= covered / rounds <= 0.98


def test_the_bootstrap_finds_what_is_there_and_is_the_same_again() -> None:
    theirs = np.linspace(0.0, 0.8, 200)
    found = paired_difference(theirs + 0.1, theirs)
    assert found.mean == pytest.approx(0.1)
    assert found.low == pytest.approx(0.1)
    assert found.p < 0.001
    assert paired_difference(theirs, theirs) == (0.0, 0.0, 0.0, 1.0)
    assert paired_difference(theirs**2, theirs) == paired_difference(theirs**2, theirs)
    gain = average_gain([(theirs * 1.2, theirs), (theirs * 1.1, theirs)])
    assert gain.mean == pytest.approx(0.15)
    assert gain.low == pytest.approx(0.15)


def judged(folder: Path, keep: Path | None = None) -> Evaluation:
    settings = Settings()
    best = {"1": {"b": 1.0}, "2": {"c": 1.0}, "3": {"b": 1.0}}
    variants = select_variants(settings, [FIRST_STAGE, FULL_PIPELINE]) + ablations(settings)
    return evaluate_variants(folder, settings, variants, baselines={"theirs": lambda: best}, keep=keep)


def test_variants_are_compared_on_one_build(collection: Path, tmp_path: Path) -> None:
    found = judged(collection, tmp_path / "kept")
    assert (found.documents, found.queries) == (4, 3)
    first, full = found.result(FIRST_STAGE), found.result(FULL_PIPELINE)
    theirs = found.result("theirs")
    assert first
    assert full
    assert theirs
    assert full.comparison
    assert theirs.comparison is None
    assert theirs.ndcg == pytest.approx((1 / (2 + 1 / math.log2(3)) + 1 / (1 + 1 / math.log2(3)) + 1) / 3)
    assert full.comparison.base == "theirs"
    assert (full.comparison.wins, full.comparison.losses, full.comparison.ties) == (1, 0, 2)
    assert [moved.words for moved in full.comparison.best] == ["tides"]
    off = [result for result in found.results if result.name.startswith("-")]
    assert off
    assert all(result.comparison and result.comparison.base == FULL_PIPELINE for result in off)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.arrays")}
    again = judged(collection, tmp_path / "kept")
    assert kept == {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("*.arrays")}
    assert again.values == found.values
    (collection / "docs.jsonl").write_text(DOCS + '{"id": "e", "text": "One more."}\n')
    assert judged(collection, tmp_path / "kept").documents == 5


def test_many_queries_are_asked_by_several_processes(collection: Path) -> None:
    lines = [f'{{"id": "n{n}", "text": "{("tides", "bread", "fog")[n % 3]} {n}"}}\n' for n in range(300)]
    (collection / "queries.jsonl").write_text("".join(lines))
    (collection / "qrels.tsv").write_text("".join(f"n{n}\t{'abc'[n % 3]}\t1\n" for n in range(300)))
    settings = Settings()
    with QueryRunner(2, worth=100) as runner:
        found = evaluate_variants(collection, settings, select_variants(settings, [FULL_PIPELINE]), runner=runner)
    alone = evaluate_variants(collection, settings, select_variants(settings, [FULL_PIPELINE]))
    assert found.queries == 300
    assert found.results[0].ndcg == alone.results[0].ndcg > 0.99


class _Page(HTMLParser):
    """Checks that elements close in order, and gathers what points elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_report_is_a_whole_page_with_the_figures(found: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    figures = json.loads(write_report(path, [found, found]).read_text())
    html = path.read_text()
    page = _Page()
    page.feed(html)
    page.close()
    assert page.open == []
    assert page.outside == []
    assert "url(" not in html
    assert "@import" not in html
    said = " ".join(page.text)
    full = found.result(FULL_PIPELINE)
    assert full
    assert f"{full.ndcg:.4f}" in said
    assert f"{full.recall:.4f}" in said
    assert "tides" in said
    drawn = html.split("<svg")[1:]
    assert len(drawn) >= 4
    for one in drawn:
        ElementTree.fromstring("<svg" + one.partition("</svg>")[0] + "</svg>")
    assert figures["collections"][0]["collection"] == "harbour"
    assert figures["averages"][0]["gain"] == pytest.approx(average_gains([found, found])[0].gain)


def test_words_of_a_collection_cannot_become_markup(collection: Path, tmp_path: Path) -> None:
    (collection / "queries.jsonl").write_text('{"id": "1", "text": "tides <script>"}\n')
    (collection / "qrels.tsv").write_text("1\ta\t1\n")
    settings = Settings()
    found = evaluate_variants(
        collection, settings, select_variants(settings, [FULL_PIPELINE]), baselines={"none": lambda: {}}
    )
    write_report(tmp_path / "report.html", [found])
    html = (tmp_path / "report.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_the_data_folder_keeps_the_figures(found: Evaluation, tmp_path: Path) -> None:
    for _ in range(2):
        path = record_quality(tmp_path / "data", [found])
    latest = json.loads(path.read_text())
    assert path == tmp_path / "data" / "quality" / "latest.json"
    assert latest["collections"][0]["results"][1]["ndcg"] == pytest.approx(found.results[1].ndcg)
    first, *lines = (tmp_path / "data" / "quality" / "history.jsonl").read_text().splitlines()
    assert json.loads(first)["format"] == 2
    assert [json.loads(line)["ndcg"]["harbour"]["full"] for line in lines] == [pytest.approx(1.0, abs=0.4)] * 2


def test_the_command_writes_report_and_data_folder(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "periplus.json").write_text('{"format": 1}')
    options = ["--variants", "first,full", "--ablate", "--report", str(tmp_path / "r.html"), "--folder", str(data)]
    assert main(["evaluate", str(collection), *options, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said[0]["scores"]["queries"] == 3
    assert [one["name"] for one in said[0]["variants"]][:2] == ["first", "full"]
    assert (tmp_path / "r.html").exists()
    assert (tmp_path / "r.json").exists()
    assert json.loads((data / "quality" / "latest.json").read_text())["collections"][0]["queries"] == 3


def test_a_variant_that_is_not_there_is_refused() -> None:
    assert [variant.name for variant in standard_variants(Settings())] == ["first", "full", "meaning"]
    with pytest.raises(BadInput, match="first, full, meaning"):
        select_variants(Settings(), ["best"])
