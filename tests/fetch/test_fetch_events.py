"""The queue of events: the same from epoll and from `selectors`."""

import os
import socket

import pytest

from periplus.fetch import Fetcher
from periplus.fetch.event_queue import READ, WRITE, _Epoll, _Selector
from periplus.records import FetchRequest
from periplus.settings import FetchSettings
from periplus.url import parse_address


@pytest.fixture(params=[_Epoll, _Selector])
def queue(request):
    queue = request.param()
    yield queue
    queue.close()


def test_events_are_those_that_are_waited_for(queue):
    here, there = socket.socketpair()
    with here, there:
        queue.set(here.fileno(), READ)
        assert queue.wait(0) == []
        queue.set(here.fileno(), READ | WRITE)
        assert queue.wait(0.1) == [(here.fileno(), WRITE)]
        there.send(b"x")
        assert queue.wait(0.1) == [(here.fileno(), READ | WRITE)]
        queue.set(here.fileno(), READ)
        assert queue.wait(0.1) == [(here.fileno(), READ)]
        queue.remove(here.fileno())
        assert queue.wait(0) == []
        queue.remove(here.fileno())


def test_the_end_of_a_peer_is_an_event(queue):
    here, there = socket.socketpair()
    with here:
        queue.set(here.fileno(), READ)
        there.close()
        ((descriptor, events),) = queue.wait(0.1)
        assert (descriptor, events & READ) == (here.fileno(), READ)


def test_a_number_can_be_used_again(queue):
    first, writer = os.pipe()
    queue.set(first, READ)
    os.close(first)
    os.close(writer)
    again, writer = os.pipe()
    assert again == first
    queue.set(again, READ)
    os.write(writer, b"x")
    assert queue.wait(0.1) == [(again, READ)]
    os.close(again)
    os.close(writer)
    queue.remove(again)
    queue.remove(10_000)


class _OneAtATime:
    """A queue that returns one answer at a time, once all have arrived."""

    def __init__(self, queue, answers):
        self._queue, self._answers = queue, answers

    def __getattr__(self, name):
        return getattr(self._queue, name)

    def wait(self, seconds):
        events = self._queue.wait(min(seconds, 0.01))
        if sending := [event for event in events if event[1] & WRITE]:
            return sending
        if len(events) < self._answers:
            return []
        self._answers = 0
        return events[:1]


def test_results_that_have_arrived_come_together(peer):
    peer.answers["/"] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\n\r\nx"
    fetcher = Fetcher(FetchSettings(allow=("127.0.0.0/8",)))
    fetcher._events = _OneAtATime(fetcher._events, 8)
    for _ in range(8):
        fetcher.start(FetchRequest(parse_address(peer.url())))
    assert len(fetcher.poll(20)) == 8
    fetcher.close()
