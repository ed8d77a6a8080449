"""The tables of docs/ranking.md agree with the weights files."""

from pathlib import Path

import pytest

from periplus.score import SCORERS, shipped_weights

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"


@pytest.mark.parametrize("scorer", SCORERS)
def test_every_feature_is_on_the_page_as_it_is(scorer: str) -> None:
    rows = [
        f"| `{name}` | {weight.weight:g} | {weight.shape} | {weight.about} |"
        for name, weight in shipped_weights(scorer).items()
    ]
    page = PAGE.read_text("utf-8")
    assert "\n".join(rows) in page, f"docs/ranking.md should have, for the {scorer} scorer:\n" + "\n".join(rows)
