"""The states of a host and the events that move it from one to another, as a table.

    EMPTY               no URLs wait
    SCHEDULED           waits for its turn in the heap of hosts by time
    DEFERRED            the same, behind all scheduled hosts: over its budget or share, or with nothing promising
    BLOCKED             its turn has come, but its domain or address has as many requests in flight as it may have
    IN_FLIGHT           one request is in flight
    RESERVED            its turn is lent to the robots.txt of another host
    SUSPENDED           left alone for the rest of the run: it does not answer, or has reached its share of pages
    SUSPENDED_RESERVED  the same, while a robots.txt is fetched from it

What is not in `TRANSITIONS` is impossible: `HostScheduler.move`, which alone changes the state of a host, refuses it.
"""

import enum
from typing import Final

__all__ = ["PLACED", "TRANSITIONS", "HostEvent", "HostState"]


class HostState(enum.IntEnum):
    """Where a host is. The numbers are written to disk; those from SUSPENDED on are of suspended hosts."""

    EMPTY = 0
    SCHEDULED = 1
    DEFERRED = 2
    BLOCKED = 3
    IN_FLIGHT = 4
    RESERVED = 5
    SUSPENDED = 8
    SUSPENDED_RESERVED = 9


class HostEvent(enum.IntEnum):
    """What happens to a host."""

    UPDATE = 0
    """Its queue has changed, or a request of its domain or address has ended."""
    START = 1
    """Its turn has come: its best URL is handed out."""
    BLOCK = 2
    """Its turn has come, but its domain or address is busy."""
    FINISH = 3
    """Its request has ended."""
    RESERVE = 4
    RELEASE = 5
    SUSPEND = 6
    REVIVE = 7
    RECOVER = 8
    """After a restart: nothing is in flight any more."""
    EXPORT = 9
    """It is handed to another frontier."""


_S, _E = HostState, HostEvent
PLACED: Final = (_S.EMPTY, _S.SCHEDULED, _S.DEFERRED)
"""The scheduler decides, by what waits at the host and by its budget."""
_WAITING: Final = (*PLACED, _S.BLOCKED)

TRANSITIONS: Final[dict[tuple[HostState, HostEvent], tuple[HostState, ...]]] = {
    **{(state, _E.UPDATE): PLACED for state in _WAITING},
    **{(state, _E.UPDATE): (state,) for state in _S if state not in _WAITING},
    **{(state, _E.START): (_S.IN_FLIGHT,) for state in (_S.SCHEDULED, _S.DEFERRED)},
    **{(state, _E.BLOCK): (_S.BLOCKED,) for state in (_S.SCHEDULED, _S.DEFERRED)},
    (_S.IN_FLIGHT, _E.FINISH): PLACED,
    **{(state, _E.RESERVE): (_S.RESERVED,) for state in _WAITING},
    (_S.SUSPENDED, _E.RESERVE): (_S.SUSPENDED_RESERVED,),
    (_S.RESERVED, _E.RELEASE): PLACED,
    (_S.SUSPENDED_RESERVED, _E.RELEASE): (_S.SUSPENDED,),
    **{(state, _E.SUSPEND): (_S.SUSPENDED,) for state in _S if state < _S.SUSPENDED},
    (_S.SUSPENDED, _E.REVIVE): PLACED,
    (_S.SUSPENDED_RESERVED, _E.REVIVE): (_S.RESERVED,),
    **{(state, _E.RECOVER): PLACED for state in _S if state < _S.SUSPENDED},
    **{(state, _E.RECOVER): (_S.SUSPENDED,) for state in _S if state >= _S.SUSPENDED},
    **{(state, _E.EXPORT): (_S.EMPTY,) for state in (*_WAITING, _S.RESERVED)},
    **{(state, _E.EXPORT): (_S.SUSPENDED,) for state in _S if state >= _S.SUSPENDED},
}
"""The states that an event may lead to; one, or those among which the scheduler chooses."""
