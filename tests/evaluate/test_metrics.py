"""Metrics against ir_measures on random runs, and by hand."""

import math
import random

import pytest

from periplus.errors import BadFile
from periplus.evaluate.metrics import mrr, ndcg_at, read_qrels, recall_at, write_run

QRELS = {"q": {"a": 2, "b": 0, "c": 1}}


def test_by_hand():
    run = {"q": {"b": 3.0, "c": 2.0, "a": 1.0}}
    gained = 1 / math.log2(3) + 2 / math.log2(4)
    assert ndcg_at(run, QRELS, 10) == pytest.approx(gained / (2 + 1 / math.log2(3)))
    assert mrr(run, QRELS) == 0.5
    assert recall_at(run, QRELS, 2) == 0.5
    assert recall_at(run, QRELS, 100) == 1.0


def test_nothing_found_and_nothing_judged_count_0():
    for measure in (mrr, lambda run, qrels: ndcg_at(run, qrels, 10), lambda run, qrels: recall_at(run, qrels, 10)):
        assert measure({}, QRELS) == measure({"q": {}}, QRELS) == measure({"q": {"a": 1.0}}, {}) == 0.0
        assert measure({"q": {"a": 1.0}}, {"q": {"a": 0}}) == 0.0
        assert measure({"q": {"a": 1.0}}, {"q": {"a": 2}, "missed": {"a": 2}}) == 0.5


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
def test_they_agree_with_ir_measures(seed):
    measures = pytest.importorskip("ir_measures")
    run, qrels = random_case(seed)
    wanted = measures.calc_aggregate([measures.nDCG @ 10, measures.R @ 20, measures.RR], qrels, run)
    assert ndcg_at(run, qrels, 10) == pytest.approx(wanted[measures.nDCG @ 10], abs=1e-9)
    assert recall_at(run, qrels, 20) == pytest.approx(wanted[measures.R @ 20], abs=1e-9)
    assert mrr(run, qrels) == pytest.approx(wanted[measures.RR], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_written_run_reads_as_the_same_run(tmp_path, seed):
    measures = pytest.importorskip("ir_measures")
    run, qrels = random_case(seed)
    write_run(tmp_path / "run", run, "periplus")
    read = {}
    ranks = {}
    for row in measures.read_trec_run(str(tmp_path / "run")):
        read.setdefault(row.query_id, {})[row.doc_id] = row.score
    for line in (tmp_path / "run").read_text().splitlines():
        query, q0, _, rank, _, name = line.split(" ")
        assert (q0, name) == ("Q0", "periplus")
        ranks.setdefault(query, []).append(int(rank))
    assert all(found == list(range(1, len(found) + 1)) for found in ranks.values())
    assert ndcg_at(read, qrels, 10) == ndcg_at(run, qrels, 10)
    assert mrr(read, qrels) == mrr(run, qrels)


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
