"""Which replica is asked, by states and times alone."""

import itertools

import pytest

from periplus.cluster.serving.fan_out import FanOut
from periplus.cluster.serving.latency_window import LatencyWindow
from periplus.cluster.serving.replica_choice import ShardReplicas

A, B, C = ("a", 1), ("b", 1), ("c", 1)


def states(replicas: ShardReplicas) -> dict[str, str]:
    return {replica.address[0]: replica.state for replica in replicas.statistics()}


def answer(replicas: ShardReplicas, times: int, seconds: float = 0.01, now: float = 0.0) -> list[str]:
    names = []
    for _ in range(times):
        address = replicas.choose(now)
        assert address is not None
        names.append(address[0])
        replicas.answered(address, seconds)
    return names


def test_window_has_the_quantiles_of_the_latest() -> None:
    window = LatencyWindow(100)
    assert window.quantile(0.95, 7.0) == 7.0
    for value in [9.0] * 50 + [n / 100 for n in range(100)]:
        window.add(value)
    assert window.quantile(0.0, 7.0) == 0.0
    assert window.quantile(0.95, 7.0) == 0.95
    assert window.quantile(1.0, 7.0) == 0.99


def test_equal_replicas_share_the_requests() -> None:
    names = answer(ShardReplicas([A, B, C]), 300)
    assert min(names.count(name) for name in "abc") > 50


def test_a_slower_replica_is_asked_less_but_not_never() -> None:
    replicas, names = ShardReplicas([A, B]), []
    for _ in range(1_000):
        address = replicas.choose(0.0)
        assert address is not None
        names.append(address[0])
        replicas.answered(address, 0.001 if address == A else 0.1)
    assert 0 < names.count("b") < 50


def test_a_replica_with_many_requests_open_is_avoided() -> None:
    replicas = ShardReplicas([A, B])
    answer(replicas, 10)
    assert sorted(replicas.choose(0.0)[0] for _ in range(10)).count("a") in (4, 5, 6)  # type: ignore[index]


def test_states_and_the_moves_between_them() -> None:
    replicas = ShardReplicas([A, B])
    assert states(replicas) == {"a": "up", "b": "up"}
    replicas.late(A, 1.0, 10.0)
    assert states(replicas) == {"a": "suspect", "b": "up"}
    assert set(answer(replicas, 50)) == {"b"}
    replicas.answered(A, 0.01, counts=False)
    assert states(replicas) == {"a": "up", "b": "up"}
    for _ in range(3):
        replicas.late(A, 1.0, 10.0)
    assert states(replicas) == {"a": "down", "b": "up"}
    replicas.failed(B, 10.0, "refused")
    assert states(replicas) == {"a": "down", "b": "down"}
    assert replicas.choose(100.0) is None
    replicas.answered(B, 0.01, counts=False)
    assert states(replicas) == {"a": "down", "b": "up"}
    replicas.late(B, 1.0, 20.0)
    replicas.failed(B, 20.3, "timed out", is_probe=True)
    assert states(replicas)["b"] == "down"


def test_a_suspect_is_asked_where_no_other_is_up() -> None:
    replicas = ShardReplicas([A])
    replicas.late(A, 1.0, 0.0)
    assert replicas.choose(0.0) == A


def test_probes_back_off_and_end_with_an_answer() -> None:
    replicas, now, waits = ShardReplicas([A]), 0.0, []
    replicas.failed(A, now, "refused")
    for _ in range(12):
        begin = now
        while not replicas.due_probes(now):
            now += 0.01
        waits.append(now - begin)
        replicas.failed(A, now, "refused", is_probe=True)
    assert 0.15 < waits[0] < 0.35
    assert all(later > earlier * 1.2 for earlier, later in itertools.pairwise(waits[:6]))
    assert max(waits) < 19
    replicas.answered(A, 0.1, counts=False)
    assert not replicas.due_probes(now + 1_000)
    assert states(replicas) == {"a": "up"}


def test_many_requests_that_fail_at_once_count_as_one() -> None:
    replicas = ShardReplicas([A])
    for _ in range(10):
        replicas.choose(0.0)
    for _ in range(10):
        replicas.failed(A, 1.0, "reset")
    assert replicas.due_probes(1.4) == [A]


def test_a_busy_replica_is_left_alone_for_a_moment() -> None:
    replicas = ShardReplicas([A, B])
    replicas.busy(A, 5.0)
    assert set(answer(replicas, 30, now=5.1)) == {"b"}
    assert set(answer(replicas, 100, now=6.0)) == {"a", "b"}


def test_replicas_that_stay_keep_what_is_known() -> None:
    replicas = ShardReplicas([A, B])
    replicas.failed(A, 0.0, "refused")
    replicas.update([A, C])
    assert states(replicas) == {"a": "down", "c": "up"}
    replicas.answered(B, 1.0)  # an answer of one that is gone


def shards(*counts: int) -> dict[int, ShardReplicas]:
    return {n: ShardReplicas([(f"{n}-{k}", 1) for k in range(count)]) for n, count in enumerate(counts)}


def test_one_replica_of_each_shard_is_asked() -> None:
    fan_out = FanOut(shards(2, 2, 1), 1.0)
    attempts = fan_out.begin(0.0)
    assert [attempt.shard for attempt in attempts] == [0, 1, 2]
    for attempt in attempts:
        assert not fan_out.is_done
        assert fan_out.answered(attempt, 0.01) == []
    assert fan_out.is_done
    assert fan_out.missing == ()


def test_a_late_replica_is_hedged_and_the_first_answer_counts() -> None:
    table = shards(2, 2)
    fan_out = FanOut(table, 1.0)
    first, other = fan_out.begin(0.0)
    fan_out.answered(other, 0.001)
    assert fan_out.next_time == pytest.approx(0.05)
    assert fan_out.advance(0.049) == ([], [])
    ([hedge], given_up) = fan_out.advance(0.05)
    assert hedge.shard == 0
    assert hedge.address != first.address
    assert not given_up
    assert fan_out.next_time == 1.0  # no third
    assert fan_out.answered(hedge, 0.06) == [first]
    assert fan_out.is_done
    assert not fan_out.missing
    assert states(table[0])[first.address[0]] == "suspect"
    assert fan_out.answered(first, 0.07) == []  # too late


def test_a_hedge_that_was_not_needed_is_not_held_against_its_replica() -> None:
    table = shards(2)
    fan_out = FanOut(table, 1.0)
    [first] = fan_out.begin(0.0)
    [hedge] = fan_out.advance(0.05)[0]
    assert fan_out.answered(first, 0.06) == [hedge]
    assert set(states(table[0]).values()) == {"up"}


def test_the_delay_of_hedges_follows_the_latencies() -> None:
    replicas = ShardReplicas([A, B])
    answer(replicas, 100, 0.011)
    assert replicas.hedge_seconds() == 0.011
    answer(replicas, 300, 0.000_1)
    assert replicas.hedge_seconds() == 0.002
    answer(replicas, 300, 30.0)
    assert replicas.hedge_seconds() == 0.5


def test_hedges_are_bounded_in_the_long_run() -> None:
    table, hedges = shards(2), 0
    for n in range(1_000):
        fan_out = FanOut(table, n + 0.9)
        [first] = fan_out.begin(n)
        hedges += len(fan_out.advance(n + 0.6)[0])
        fan_out.answered(first, n + 0.7)
    assert 100 <= hedges <= 140


def test_a_failure_goes_to_the_next_replica_at_once() -> None:
    fan_out = FanOut(shards(3), 1.0)
    [attempt] = fan_out.begin(0.0)
    tried = {attempt.address}
    for _ in range(2):
        [attempt] = fan_out.failed(attempt, 0.01, "reset")
        assert attempt.address not in tried
        tried.add(attempt.address)
    assert fan_out.failed(attempt, 0.02, "reset") == []
    assert fan_out.is_done
    assert fan_out.missing == (0,)


def test_a_hedge_that_fails_leaves_the_first_attempt() -> None:
    fan_out = FanOut(shards(2), 1.0)
    [first] = fan_out.begin(0.0)
    [hedge] = fan_out.advance(0.1)[0]
    assert fan_out.failed(hedge, 0.11, "reset") == []
    assert not fan_out.is_done
    fan_out.answered(first, 0.2)
    assert fan_out.is_done
    assert not fan_out.missing


def test_the_deadline_gives_up_who_has_not_answered() -> None:
    table = shards(2, 1, 1)
    fan_out = FanOut(table, 1.0)
    attempts = fan_out.begin(0.0)
    fan_out.answered(attempts[1], 0.01)
    [hedge] = fan_out.advance(0.06)[0]
    hedges, given_up = fan_out.advance(1.0)
    assert not hedges
    assert set(given_up) == {attempts[0], hedge, attempts[2]}
    assert fan_out.is_done
    assert fan_out.missing == (0, 2)


def test_a_shard_without_a_replica_that_is_up_is_missing_at_once() -> None:
    table = shards(1, 0)
    table[0].failed(("0-0", 1), 0.0, "refused")
    fan_out = FanOut(table, 1.0)
    assert fan_out.begin(0.1) == []
    assert fan_out.is_done
    assert fan_out.missing == (0, 1)


def test_a_busy_replica_is_not_down() -> None:
    table = shards(2)
    fan_out = FanOut(table, 1.0)
    [first] = fan_out.begin(0.0)
    [second] = fan_out.failed(first, 0.01, "busy", busy=True)
    assert second.address != first.address
    assert set(states(table[0]).values()) == {"up"}
