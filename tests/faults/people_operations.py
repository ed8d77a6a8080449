"""What people leave in a data folder: keys, judgements, clicks, visit reports, popular queries, learned models."""

import json
import time
from pathlib import Path

import numpy as np
from operation import MarkWriter, Operation, expect, expect_between, run_command

from periplus.errors import BadInput
from periplus.rank import FEATURES, list_models, save_model, select_model
from periplus.rank.kernels.trees import Trees
from periplus.rank.ranking_model import TreeModel, read_model
from periplus.rank.training import TrainingResult
from periplus.records import VisitReport
from periplus.serve import ApiKeys
from periplus.signals import (
    Click,
    Judgement,
    LogPosition,
    append_visit_reports,
    read_clicks,
    read_judgements,
    read_visit_counts,
    read_visit_reports,
    update_visit_counts,
    write_click,
    write_judgement,
)
from periplus.signals.popular_queries import PopularQueries


class Keys(Operation):
    """Keys created and revoked by the command."""

    name = "keys: add and remove"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        ApiKeys(folder).add("first", "admin")

    def run(self, folder: Path, marks: MarkWriter) -> None:
        for name in ("second", "third"):
            listed = {key["name"] for key in json.loads(run_command("keys", "list", "--json", "--folder", folder))}
            if name not in listed:
                marks.begin(name)
                run_command("keys", "add", name, "publish", "--folder", folder)
                marks.done(name)
        marks.begin("remove")
        try:
            ApiKeys(folder).remove("first")
        except BadInput:
            pass
        marks.done("remove")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        names = {key.name for key in ApiKeys(folder).all()}
        must = {*done} - {"remove"} | ({"first"} if "remove" not in begun else set())
        may = {*begun} - {"remove"} | ({"first"} if "remove" not in done else set())
        expect_between(must, names, may, "keys")
        secret = ApiKeys(folder).add("more", "publish")
        key = ApiKeys(folder).find(secret)
        expect(key is not None and key.name == "more", "a key that was created afterwards is not accepted")
        expect({key.name for key in ApiKeys(folder).all()} == names | {"more"}, "a key was lost afterwards")


class Judgements(Operation):
    """Judgements and clicks, one after the other."""

    name = "signals: judgements and clicks"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        for number in range(5):
            marks.begin(f"judgement {number}")
            expect(write_judgement(folder, Judgement("tides", f"http://a.test/{number}", 3, 5.0)), "refused")
            marks.done(f"judgement {number}")
            marks.begin(f"click {number}")
            expect(write_click(folder, Click("tides", f"http://a.test/{number}", 1)), "refused")
            marks.done(f"click {number}")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        for more in ([], ["judgement 9", "click 9"]):
            if more:
                write_judgement(folder, Judgement("tides", "http://a.test/9", 3, 5.0))
                write_click(folder, Click("tides", "http://a.test/9", 1))
            seen = [f"judgement {judgement.url[-1]}" for judgement in read_judgements(folder) if judgement.grade == 3]
            seen += [f"click {click.url[-1]}" for click in read_clicks(folder) if click.position == 1]
            expect_between({*done, *more}, seen, {*begun, *more}, "signals")


class VisitReports(Operation):
    """Visit reports queued, and counted."""

    name = "signals: visit reports"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        now = time.time()
        for number in range(5):
            marks.begin(str(number))
            append_visit_reports(folder, [VisitReport(f"http://a.test/{number}", when=now)])
            marks.done(str(number))
            if number % 2:
                update_visit_counts(folder, 0.0)

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        read_visit_counts(folder)
        append_visit_reports(folder, [VisitReport("http://a.test/9")])
        update_visit_counts(folder, 0.0)
        seen = {report.url[-1] for report in read_visit_reports(folder, LogPosition())[0]}
        expect_between({*done, "9"}, seen, {*begun, "9"}, "visit reports")


class Popularity(Operation):
    """Popular queries counted and written."""

    name = "signals: popular queries"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def run(self, folder: Path, marks: MarkWriter) -> None:
        now = 1_700_000_000.0
        for text in (b"tide table", b"tide times"):
            popular = PopularQueries(folder / "popular", 3)
            marks.begin(text.decode())
            for visitor in range(5):
                popular.count(text, f"192.0.2.{visitor}", now)
            popular.synchronize(now)
            if text in dict(PopularQueries(folder / "popular", 3).complete(b"ti", 5)):
                marks.done(text.decode())  # a count is never worth an error: it may have been skipped

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        popular = PopularQueries(folder / "popular", 3)
        seen = {text.decode() for text, _ in popular.complete(b"ti", 5)}
        expect_between(done, seen, begun, "popular queries")
        for visitor in range(5):
            popular.count(b"tide more", f"192.0.2.{visitor}", 1_700_000_000.0)
        popular.synchronize(1_700_000_000.0)
        seen = {text.decode() for text, _ in PopularQueries(folder / "popular", 3).complete(b"ti", 5)}
        expect("tide more" in seen, "a query that was counted afterwards is not popular")


def _trained() -> TrainingResult:
    trees = Trees(
        np.array([0, ~2], np.int32),
        np.array([0, 3], np.int32),
        np.array([0.5, 0.25]),
        np.array([[1, ~0], [~1, ~2]], np.int32),
        np.array([0.1, 0.2]),
        np.array([1.0, -0.5, 0.25]),
    )
    return TrainingResult(TreeModel(trees, 2.0), 40, 0.5, 0.625, 0.0625, 0.001, {"pairs": 0.75, "static": 0.25})


class Models(Operation):
    """A trained model saved and selected, then the weights alone selected."""

    name = "models: save and select"

    def prepare(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        save_model(folder, _trained(), ("judgements",))

    def run(self, folder: Path, marks: MarkWriter) -> None:
        marks.begin("model")
        card = save_model(folder, _trained(), ("clicks",))
        marks.done(card.name)
        marks.begin("none")
        select_model(folder, "")
        marks.done("none")

    def check(self, folder: Path, done: list[str], begun: list[str]) -> None:
        cards, used = list_models(folder)
        names = {card.name for card in cards}
        expect(used == "" or used in names, f"the model in use, {used}, has no card")
        expect({name for name in done if name != "none"} <= names, "a model was lost")
        expect("none" not in done or used == "", "the selection was lost")
        row = np.linspace(0.0, 1.0, len(FEATURES)).reshape(1, -1)
        for name in names:
            model = read_model(folder / "models" / f"{name}.model")
            expect(model.correct(row) == _trained().model.correct(row), f"model {name} has other trees")
        card = save_model(folder, _trained(), ("clicks",))
        expect(list_models(folder)[1] == card.name, "a model that was trained afterwards is not used")


OPERATIONS: tuple[Operation, ...] = (Keys(), Judgements(), VisitReports(), Popularity(), Models())
