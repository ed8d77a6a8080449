"""The questions of the demos."""

from periplus.app.demo_run import demo_queries
from periplus.fakeweb import FakeWebPlan


def test_every_round_of_the_cluster_demo_has_questions_of_its_own() -> None:
    """A broker answers what it was asked before from its cache, which says nothing of the shards."""
    plan = FakeWebPlan(7, 6, 200)
    rounds = [{query.words for query in demo_queries(plan, turn)} for turn in range(3)]
    assert all(len(words) == 5 for words in rounds)
    assert not any(first & other for number, first in enumerate(rounds) for other in rounds[:number])
