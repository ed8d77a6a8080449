"""Scores against ir_measures, which runs trec_eval, on random runs and on judged collections; and TREC's files."""

import math
import random
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, nDCG

from periplus.errors import BadFile
from periplus.evaluate.rankings import QueryScores, from_run, make_judgements, score
from periplus.evaluate.trec_files import read_qrels, write_run

COLLECTIONS = Path(__file__).parents[3] / "shared" / "data" / "ir"
QRELS = {"q": {"a": 2, "b": 0, "c": 1}}


def measured(run, qrels, names=None) -> QueryScores:
    names = names or sorted({name for grades in (*run.values(), *qrels.values()) for name in grades})
    judgements = make_judgements(qrels, names)
    return score(from_run(run, judgements), judgements)


def assert_as_trec_eval(run, qrels, names=None) -> None:
    judged = [query for query, grades in qrels.items() if max(grades.values()) > 0]
    values = measured(run, qrels, names)
    truth = {measure: dict.fromkeys(judged, 0.0) for measure in (nDCG @ 10, R @ 100, RR)}
    for row in ir_measures.iter_calc(list(truth), qrels, run):
        if row.query_id in truth[row.measure]:
            truth[row.measure][row.query_id] = row.value
    for ours, theirs in zip(values, truth.values(), strict=True):
        assert ours.tolist() == pytest.approx(list(theirs.values()), abs=1e-9)


def test_by_hand():
    values = measured({"q": {"b": 3.0, "c": 2.0, "a": 1.0}}, QRELS)
    gained = 1 / math.log2(3) + 2 / math.log2(4)
    assert values.means() == pytest.approx((gained / (2 + 1 / math.log2(3)), 1.0, 0.5))


def test_nothing_found_and_nothing_judged_count_0():
    assert measured({}, QRELS).means() == measured({"q": {}}, QRELS).means() == (0.0, 0.0, 0.0)
    assert measured({"q": {"a": 1.0}}, {"q": {"a": 0}}).means() == (0.0, 0.0, 0.0)
    assert measured({"q": {"a": 1.0}}, {"q": {"a": 2}, "missed": {"a": 2}}).means() == (0.5, 0.5, 0.5)


def random_case(seed):
    chance = random.Random(seed)
    documents = [f"d{n}" for n in range(60)]
    qrels, run = {}, {}
    for n in range(chance.randint(1, 12)):
        query = f"q{n}"
        judged = chance.sample(documents, chance.randint(1, 30))
        qrels[query] = {name: chance.choice([-1, 0, 0, 1, 1, 2, 3]) for name in judged}
        if chance.random() < 0.9:
            # Few distinct scores, so that there are many ties.
            run[query] = {name: chance.randint(0, 20) / 7 for name in chance.sample(documents, chance.randint(1, 60))}
    return run, qrels


@pytest.mark.parametrize("seed", range(25))
def test_they_agree_with_trec_eval(seed):
    run, qrels = random_case(seed)
    assert_as_trec_eval(run, qrels)


@pytest.mark.parametrize("seed", range(10))
def test_they_agree_when_documents_are_missing_or_there_twice(seed):
    chance = np.random.default_rng(seed)
    names = [f"d{n}" for n in range(40)] + (["d3"] if seed % 2 else [])
    queries = [f"q{n}" for n in range(30)]
    qrels = {q: {f"d{n}": int(chance.integers(-1, 3)) for n in chance.choice(50, 8, replace=False)} for q in queries}
    run = {q: {f"d{n}": float(chance.integers(0, 4)) for n in chance.choice(40, 25, replace=False)} for q in qrels}
    assert_as_trec_eval(run, qrels, names)


@pytest.mark.data
@pytest.mark.parametrize("name", ["cranfield", "cacm", "web_queries"])
def test_they_agree_on_judged_collections(name):
    if not COLLECTIONS.exists():
        pytest.skip("needs ../shared/data/ir")
    qrels = read_qrels(COLLECTIONS / name / "qrels.tsv")
    chance = random.Random(7)
    names = sorted({document for grades in qrels.values() for document in grades})
    run = {}
    for query, grades in qrels.items():
        judged = [document for document in grades if chance.random() < 0.5][:60]
        documents = {*judged, *chance.sample(names, 40)}
        run[query] = {document: chance.randint(0, 50) / 7 for document in sorted(documents)}
    assert_as_trec_eval(run, qrels)


@pytest.mark.parametrize("seed", range(5))
def test_a_written_run_reads_as_the_same_run(tmp_path, seed):
    run, qrels = random_case(seed)
    write_run(tmp_path / "run", run, "periplus")
    read = {}
    ranks = {}
    for row in ir_measures.read_trec_run(str(tmp_path / "run")):
        read.setdefault(row.query_id, {})[row.doc_id] = row.score
    for line in (tmp_path / "run").read_text().splitlines():
        query, q0, _, rank, _, name = line.split(" ")
        assert (q0, name) == ("Q0", "periplus")
        ranks.setdefault(query, []).append(int(rank))
    assert all(found == list(range(1, len(found) + 1)) for found in ranks.values())
    names = sorted({name for scores in run.values() for name in scores})
    assert measured(read, qrels, names).means() == measured(run, qrels, names).means()


def test_names_with_blanks_stay_one_column(tmp_path):
    write_run(tmp_path / "run", {"q 1": {"a doc": float("nan"), "b": 1.0}}, "my run")
    assert (tmp_path / "run").read_text() == "q_1 Q0 b 1 1 my_run\nq_1 Q0 a_doc 2 -inf my_run\n"


def test_judgements_are_read(tmp_path):
    path = tmp_path / "qrels.tsv"
    path.write_text("query\tdocument\tgrade\n1\ta b\t2\r\n\n1\tc\t0\n2\td\t-1\n")
    assert read_qrels(path) == {"1": {"a b": 2, "c": 0}, "2": {"d": -1}}
    path.write_text("1 0 x 3\n2 0 y 1\n")
    assert read_qrels(path) == {"1": {"x": 3}, "2": {"y": 1}}


@pytest.mark.parametrize(
    "raw", [b"", b"\n\n", b"1\ta\t1\n1\ta\n", b"1\ta\t1\n1\tb\tgood\n", b"1\ta\t1\n\xff\t\xfe\t1\n"]
)
def test_bad_judgements_are_named(tmp_path, raw):
    path = tmp_path / "qrels.tsv"
    path.write_bytes(raw)
    with pytest.raises(BadFile, match="qrels"):
        read_qrels(path)
    with pytest.raises(BadFile):
        read_qrels(tmp_path / "none")
