"""docs/ranking.md says what the weights files say."""

from pathlib import Path

import pytest

from periplus.score import RANKERS, shipped_weights

PAGE = Path(__file__).resolve().parents[2] / "docs" / "ranking.md"


@pytest.mark.parametrize("ranker", RANKERS)
def test_every_feature_is_on_the_page_as_it_is(ranker: str) -> None:
    rows = [
        f"| `{name}` | {one.weight:g} | {one.shape} | {one.about} |" for name, one in shipped_weights(ranker).items()
    ]
    page = PAGE.read_text("utf-8")
    assert "\n".join(rows) in page, f"docs/ranking.md should have, for the {ranker} ranker:\n" + "\n".join(rows)
