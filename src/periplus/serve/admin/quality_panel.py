"""The quality of ranking as the admin page shows it: what an evaluation left in the data folder."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from periplus.serve.admin.admin_plots import line

__all__ = ["quality_panel"]

_MOST: Final = 600


def quality_panel(latest: Any, history: Sequence[Any]) -> dict[str, Any]:
    """Give the scores by collection and their mean over time; nothing of a file that is none of ours."""
    try:
        scores = [(one["collection"], *_score(one["results"])) for one in latest["collections"]] if latest else []
        times = [_mean(kept["ndcg"]) for kept in history][-_MOST:]
    except (KeyError, TypeError, ValueError, AttributeError):
        scores, times = [], []
    return {
        "quality_when": str(latest["when"])[:16].replace("T", " ") if scores and "when" in latest else "",
        "quality": [(name, title, f"{score:.3f}", round(100 * score, 1)) for name, title, score in scores],
        "quality_line": line(times),
    }


def _score(results: Sequence[Any]) -> tuple[str, float]:
    """Give the name and the score of the last variant that was measured: each adds something to those before it."""
    best = ("", 0.0)
    for one in results:
        if not one.get("skipped") and not str(one["name"]).startswith("-"):
            best = (str(one.get("title", one["name"])), float(one["ndcg"]))
    return best


def _mean(scores: Mapping[str, Mapping[str, float]]) -> float:
    """Give the mean over collections of what the last variant scored."""
    last = [
        [float(score) for name, score in variants.items() if not name.startswith("-")] for variants in scores.values()
    ]
    known = [values[-1] for values in last if values]
    return sum(known) / len(known) if known else 0.0
