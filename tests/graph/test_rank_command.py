"""`periplus rank pagerank`: of a data folder, and of any graph."""

import json

import pytest

from periplus.cli import main
from periplus.records import FetchRecord, Link, Outcome, Page
from periplus.settings import StoreSettings
from periplus.store import PageStore
from periplus.url import parse_address


@pytest.fixture
def folder(tmp_path):
    with PageStore.open(tmp_path / "data" / "store", StoreSettings(), write=True) as store:
        for number in range(12):
            url = f"http://h{number % 4}.example/{number}"
            links = tuple(Link(f"http://h{other % 4}.example/{other}", "a name") for other in range(number))
            store.append(FetchRecord(url, parse_address(url).key, Outcome.OK, 1.0, 200, page=Page(url, links=links)))
    return tmp_path / "data"


def test_pages_and_hosts_are_shown_and_drawn(folder, capsys):
    assert main(["rank", "pagerank", "--folder", str(folder), "--top", "3"]) == 0
    shown = capsys.readouterr().out
    assert "http://h0.example/0" in shown.splitlines()[1]
    assert "12 pages of 4 hosts, 66 links" in shown
    assert (folder / "graph" / "pagerank.svg").read_text().startswith("<svg")
    assert main(["rank", "pagerank", "--folder", str(folder), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["top_pages"][0]["in_links"] == 11
    assert len(answer["top_hosts"]) == 4
    assert sum(host["rank"] for host in answer["top_hosts"]) == pytest.approx(1.0)


def test_a_graph_from_a_file(tmp_path, capsys):
    path, plot = tmp_path / "edges.tsv", tmp_path / "plot.svg"
    path.write_text("0\t1\n1\t2\n2\t1\n")
    assert main(["rank", "pagerank", "--graph", str(path), "--plot", str(plot), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["nodes"], answer["links"]) == (3, 3)
    assert answer["top"][0]["node"] == 1
    assert plot.exists()


def test_what_is_not_there_is_said(tmp_path, capsys):
    assert main(["rank", "pagerank", "--folder", str(tmp_path / "none")]) == 1
    assert "no pages" in capsys.readouterr().err
    assert main(["rank", "pagerank", "--graph", str(tmp_path / "none.txt")]) == 1
    assert "none.txt" in capsys.readouterr().err
