"""The panel with the quality of ranking, from the reports of `periplus evaluate`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from periplus.serve.admin.admin_plots import plot

__all__ = ["quality_panel"]

_MAX_POINTS: Final = 600


def quality_panel(latest: Any, history: Sequence[Any]) -> dict[str, Any]:
    """Return the variables of the panel: scores by collection and their mean over time; none for an unknown format."""
    try:
        scores = (
            [(report["collection"], *_score(report["results"])) for report in latest["collections"]] if latest else []
        )
        times = [_mean(entry["ndcg"]) for entry in history][-_MAX_POINTS:]
    except (KeyError, TypeError, ValueError, AttributeError):
        scores, times = [], []
    return {
        "quality_when": str(latest["when"])[:16].replace("T", " ") if scores and "when" in latest else "",
        "quality": [(name, title, f"{score:.3f}", round(100 * score, 1)) for name, title, score in scores],
        "quality_line": plot([(float(n), score) for n, score in enumerate(times)]),
    }


def _score(results: Sequence[Any]) -> tuple[str, float]:
    """Return the title and score of the last variant that was measured: each adds something to those before it."""
    best = ("", 0.0)
    for result in results:
        if not result.get("skipped") and not str(result["name"]).startswith("-"):
            best = (str(result.get("title", result["name"])), float(result["ndcg"]))
    return best


def _mean(scores: Mapping[str, Mapping[str, float]]) -> float:
    """Return the mean over collections of the scores of the last variant."""
    last = [
        [float(score) for name, score in variants.items() if not name.startswith("-")] for variants in scores.values()
    ]
    measured = [values[-1] for values in last if values]
    return sum(measured) / len(measured) if measured else 0.0
