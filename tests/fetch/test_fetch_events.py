"""The queue of events: the same from epoll and from `selectors`."""

import os
import socket

import pytest

from periplus.fetch.event_queue import READ, WRITE, _Epoll, _Selector


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
