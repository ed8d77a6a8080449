"""`import periplus`: the examples of docs/library.md, what importing costs, and an engine at its limits."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import periplus
from periplus.errors import BadInput, BadUrl, NothingHere
from periplus.files import lock_folder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "library.md"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_examples_of_the_page_run() -> None:
    text = PAGE.read_text("utf-8").replace("```\n", "\n")  # a closing fence is not part of what is expected
    examples = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(examples.examples) > 20
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(examples, out=report.append)
    assert runner.failures == 0, "".join(report)


def test_importing_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import periplus; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in done.stdout.split() if name.startswith("periplus")] == ["periplus"]
    assert {"numpy", "numba", "msgspec"} & set(done.stdout.split()) == set()


def test_the_names_that_are_offered_exist() -> None:
    assert [name for name in periplus.__all__ if not hasattr(periplus, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'engines'"):
        periplus.engines  # noqa: B018
    assert (Path(periplus.__file__).parent / "py.typed").exists()


def test_nothing_is_created_before_something_is_written(tmp_path: Path) -> None:
    with periplus.open("data") as engine:
        assert engine.statistics() == type(engine.statistics())()
        with pytest.raises(NothingHere):
            engine.search("tides")
        with pytest.raises(NothingHere):
            engine.build()
        with pytest.raises(BadUrl):
            engine.crawl(["not a url"])
        with pytest.raises(BadUrl):
            engine.publish("A", "b", url="not a url")
    assert list(tmp_path.iterdir()) == []


def test_a_page_published_while_the_index_is_in_use_comes_later(tmp_path: Path) -> None:
    engine = periplus.open(tmp_path / "data")
    assert engine.publish("Tides", "High water at noon.").searchable
    with lock_folder(tmp_path / "data", "index"):
        assert not engine.publish("Ferries", "The ferry leaves at ten.").searchable
        assert engine.search("ferry").hits == ()
    assert engine.publish("Bread", "Flour and water.").searchable
    assert [hit.title for hit in engine.search("ferry").hits] == ["Ferries"]
    assert engine.statistics().documents == 3


def test_a_deleted_page_is_restored(tmp_path: Path) -> None:
    engine = periplus.open(tmp_path / "data")
    url = engine.publish("Tides", "High water at noon.", url="https://a.example/tides").url
    assert engine.delete(url).urls == [url]
    assert engine.search("water").hits == ()
    with pytest.raises(BadInput, match="deleted"):
        engine.publish("Tides", "High water at noon.", url=url)
    assert engine.restore([url]).applied
    assert [hit.url for hit in engine.search("water").hits] == [url]
