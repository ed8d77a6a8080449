"""Signals that end a job in good order."""

import os
import signal

import pytest

from periplus.app.interrupts import stop_on_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_stops_in_good_order(number: int) -> None:
    stops: list[int] = []
    with stop_on_signal(lambda: stops.append(1)) as received:
        os.kill(os.getpid(), number)
        assert (stops, received) == ([1], [number])


def test_a_closed_terminal_that_is_reported_twice_is_one_signal() -> None:
    with stop_on_signal(lambda: None) as received:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)
        assert received == [signal.SIGHUP]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signal(lambda: None) as received:
            os.kill(os.getpid(), signal.SIGHUP)
            assert received == []
    finally:
        signal.signal(signal.SIGHUP, before)
