"""Whole answers: where a collection has one shard, that shard answers a query as one index does, in one message.

A broker has nothing to merge then: to plan by a copy of the dictionary, to send the plan, and to rerank and select once
more what one shard has sent would give the same results later. The shard has to have the settings that answers depend
on, and the day, of the broker; it refuses otherwise, and the broker runs the stages.
"""

import time
from typing import Final

import msgspec

from periplus import errors
from periplus.errors import PeriplusError
from periplus.hashing import fingerprint
from periplus.records import ResultPage, SearchLimits
from periplus.search.answering.index_backend import IndexBackend
from periplus.search.answering.query_answerer import QueryAnswerer
from periplus.search.index_session import IndexSession
from periplus.search.presentation.cards import CardReader
from periplus.search.sharding.shard_records import AnswerReply, AnswerRequest
from periplus.settings import Settings

__all__ = ["WholeAnswers", "fingerprint_settings", "read_answer"]

_DAY: Final = 86_400


def fingerprint_settings(settings: Settings) -> int:
    """Return a fingerprint of the settings that answers depend on."""
    return fingerprint(msgspec.msgpack.encode((settings.search, settings.rank, settings.embeddings)))


class WholeAnswers:
    """Gives the answers of one index, by the settings of its shard."""

    def __init__(self, settings: Settings, cards: CardReader) -> None:
        self._settings, self._cards = settings.search, cards
        self._fingerprint = fingerprint_settings(settings)
        self._answerer = QueryAnswerer(settings.search)

    def answer(self, session: IndexSession, request: AnswerRequest) -> AnswerReply:
        """Return the answer of an index, or the error that it raises; nothing where a broker would answer otherwise."""
        if request.settings != self._fingerprint or request.today != int(time.time() // _DAY):
            return AnswerReply()
        backend, limits = (
            IndexBackend(session, self._settings, self._cards),
            SearchLimits(request.seconds, request.cost),
        )
        try:
            return AnswerReply(self._answerer.answer(backend, request.query, limits))
        except PeriplusError as error:  # of the query, which no other replica would answer
            return AnswerReply(None, (type(error).__name__, error.message, error.hint))


def read_answer(reply: AnswerReply) -> ResultPage | None:
    """Return the answer in a reply, None where there is none; raise the error that the shard raised."""
    if reply.error is None:
        return reply.page
    kind, message, hint = reply.error
    error = getattr(errors, kind, PeriplusError) if kind in errors.__all__ else PeriplusError
    raise error(message, hint)
