"""The tables of docs/ranking.md agree with the weights files."""

from pathlib import Path

import pytest

from periplus.score import SCORERS, FeatureWeight, shipped_weights

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"


def cell(weight: FeatureWeight) -> str:
    """Write a weight; two where short and long queries have their own."""
    same = weight.weight_of_long == weight.weight
    return f"{weight.weight:g}" if same else f"{weight.weight:g} / {weight.weight_of_long:g}"


@pytest.mark.parametrize("scorer", SCORERS)
def test_every_feature_is_on_the_page_as_it_is(scorer: str) -> None:
    rows = [
        f"| `{name}` | {cell(weight)} | {weight.shape} | {weight.about} |"
        for name, weight in shipped_weights(scorer).items()
    ]
    page = PAGE.read_text("utf-8")
    assert "\n".join(rows) in page, f"docs/ranking.md should have, for the {scorer} scorer:\n" + "\n".join(rows)
