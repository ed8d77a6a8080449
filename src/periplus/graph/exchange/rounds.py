"""Rounds: what the shards of a graph send each other, and requests that other shards answer.

The graph of a shard is built by a *program*: a generator that yields a `Round` (what it sends to each other shard, and
a summary that all of them see) and receives the `Arrivals` of the same round from all shards. All programs of a graph
pass through the same rounds in the same order. They do no input or output between shards themselves: `run_programs`
passes messages on within one process, `periplus.cluster.ranking` by files.

Messages are named arrays, which may be memory-mapped and are not changed once they are sent. What a program yields
depends only on its store, its settings and what has arrived, so that a program that was killed is started again and fed
with the same arrivals.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "SINGLE_PART",
    "Arrivals",
    "Columns",
    "Message",
    "Part",
    "Program",
    "Round",
    "exchange_messages",
    "gather_summaries",
    "request_columns",
    "run_program",
    "run_programs",
    "split_by_owner",
]

Message = Mapping[str, npt.NDArray[Any]]
Columns = dict[str, npt.NDArray[Any]]
Summary = tuple[float, ...]
_T = TypeVar("_T")


class Part(NamedTuple):
    """Which part of a graph a shard has."""

    number: int = 0
    """Of this shard, from 0 on; pages of shards with lower numbers count as earlier."""
    shards: int = 1
    """Number of all shards."""
    owner: Callable[[str], int] = lambda host: 0
    """Returns the number of the shard that owns a host; all hosts of a registered domain have the same owner."""


SINGLE_PART = Part()
"""The whole graph."""


class Round(NamedTuple):
    """What one shard sends in one round."""

    name: str
    messages: Mapping[int, Message] = {}
    """By the number of the shard that receives it; never the sender itself."""
    summary: Summary = ()
    """A few numbers for all shards."""


class Arrivals(NamedTuple):
    """What one shard receives in one round."""

    messages: Mapping[int, Message]
    """By sender."""
    summaries: Sequence[Summary]
    """Of all shards, by their numbers."""

    def totals(self) -> tuple[float, ...]:
        """Return the sum of each number over all shards, added in the order of the shards."""
        return tuple(sum(column) for column in zip(*self.summaries, strict=True))


Program = Generator[Round, Arrivals, _T]


def gather_summaries(name: str, summary: Summary) -> Program[Arrivals]:
    """Send a summary to all shards and return all of them."""
    arrivals = yield Round(name, {}, summary)
    return arrivals


def split_by_owner(owners: npt.NDArray[Any], count: int) -> list[npt.NDArray[np.int64]]:
    """Return for each shard the rows that it owns, in their order."""
    if count == 1:
        return [np.arange(len(owners))]
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(count + 1))
    return [order[bounds[shard] : bounds[shard + 1]] for shard in range(count)]


def request_columns(
    part: Part, name: str, owners: npt.NDArray[Any], columns: Columns, answer: Callable[[Columns], Columns]
) -> Program[tuple[Columns, tuple[float, ...]]]:
    """Send each row to its owner, answer the rows of all shards, and return the answers in the order of the rows.

    answer: called once with the rows of all shards, those of the first shard first; the column `sender` is added.
    Returns columns of the same length; if one is called `count`, its sums over all shards are returned too.
    """
    rows = split_by_owner(owners, part.shards)
    requests = [{field: column[chosen] for field, column in columns.items()} for chosen in rows]
    others = [shard for shard in range(part.shards) if shard != part.number]
    arrivals = yield Round(name, {shard: requests[shard] for shard in others if len(rows[shard])})
    received = {**arrivals.messages, part.number: requests[part.number]}
    senders = sorted(received)
    sizes = [len(next(iter(received[sender].values()))) for sender in senders]
    joined = {field: np.concatenate([received[sender][field] for sender in senders]) for field in columns}
    answers = answer({**joined, "sender": np.repeat(np.array(senders, np.int64), sizes)})
    ends = np.cumsum(sizes)
    replies = {
        sender: {field: column[end - size : end] for field, column in answers.items()}
        for sender, size, end in zip(senders, sizes, ends.tolist(), strict=True)
    }
    total = (float(answers["count"].sum()),) if "count" in answers else ()
    own_reply = replies.pop(part.number)
    arrivals = yield Round(f"{name} (reply)", replies, total)
    results = {field: np.zeros(len(owners), column.dtype) for field, column in answers.items()}
    for shard, reply in {**arrivals.messages, part.number: own_reply}.items():
        for field, column in results.items():
            column[rows[shard]] = reply[field]
    return results, arrivals.totals()


def run_program(program: Program[_T]) -> _T:
    """Run the program of a graph that has one part."""
    return run_programs([program])[0]


def run_programs(
    programs: Sequence[Program[_T]], on_round: Callable[[Sequence[Round]], None] = lambda rounds: None
) -> list[_T]:
    """Run the programs of all shards of a graph in this process, and return their results.

    on_round: called with what all shards send in each round.
    """
    results: dict[int, _T] = {}
    rounds = [next(program) for program in programs]
    while not results:
        on_round(rounds)
        summaries = [sent.summary for sent in rounds]
        following: list[Round] = []
        for number, program in enumerate(programs):
            messages = {sender: sent.messages[number] for sender, sent in enumerate(rounds) if number in sent.messages}
            try:
                following.append(program.send(Arrivals(messages, summaries)))
            except StopIteration as stop:
                results[number] = stop.value
        rounds = following
    return [results[number] for number in range(len(programs))]


def exchange_messages(
    part: Part, name: str, messages: Mapping[int, Message], summary: Summary = ()
) -> Program[dict[int, Message]]:
    """Send messages to any shards, the own one included, and return those that arrive by sender, in their order."""
    others = {shard: message for shard, message in messages.items() if shard != part.number}
    arrivals = yield Round(name, others, summary)
    received = dict(arrivals.messages)
    if part.number in messages:
        received[part.number] = messages[part.number]
    return dict(sorted(received.items()))
