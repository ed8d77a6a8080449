"""Whose turn it is: which files of an inbox are indexed next, and what of them later files have replaced already.

Few documents never wait behind many: files of few are indexed between two rounds of others, which have as many
documents as take about half a second of a core. So a file may be indexed before an earlier one. What it has is not
replaced by the earlier one then; and what is indexed goes to the store in the order in which it came, so that after a
crash, too, the last version of a document is the one that was sent last.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from periplus.publish.inbox_files import batch_number, batch_size
from periplus.records import FetchRecord

__all__ = ["InboxQueue"]

_FEW: Final = 64
"""Documents of a batch that does not wait for others; a page by itself never does."""
_MOST_FILES: Final = 500
"""Files of one round."""
_ROUND_SECONDS: Final = 0.6
_LEAST_DOCUMENTS, _MOST_DOCUMENTS = 4_096, 16_384
"""Documents of one round, however slow or fast they are indexed: smaller segments are merged once more."""
_ROUND_BYTES: Final = 32 << 20


class InboxQueue:
    """The order of files. It has no I/O, and is told the time that a round took."""

    def __init__(self) -> None:
        self._few_were_last = False
        self._documents = _LEAST_DOCUMENTS
        """How many documents make a round."""
        self._oldest_left = 1 << 64
        """The number of the oldest file that is not in this round."""
        self._replaced: dict[int, int] = {}
        """Keys of documents, and the number of the file that they were indexed from before an earlier one was read."""

    def next_round(self, names: Sequence[str], size_of: Callable[[str], int]) -> list[str]:
        """Return the files to index next, of those that wait, the oldest first. size_of: bytes of a file."""
        many = [name for name in names if batch_size(name) > _FEW]
        few = [name for name in names if batch_size(name) <= _FEW]
        if few:
            first_few = batch_number(few[0])
            before_few = [name for name in many if batch_number(name) < first_few]
        else:
            before_few = many
        self._few_were_last = not before_few or (bool(few) and not self._few_were_last)
        chosen = few[:_MOST_FILES] if self._few_were_last else self._first_of_many(before_few, size_of)
        left = set(names) - set(chosen)
        self._oldest_left = min(map(batch_number, left), default=1 << 64)
        oldest = batch_number(names[0]) if names else 1 << 64
        self._replaced = {key: number for key, number in self._replaced.items() if number > oldest}
        return chosen

    def _first_of_many(self, names: Sequence[str], size_of: Callable[[str], int]) -> list[str]:
        chosen: list[str] = []
        documents = size = 0
        for name in names[:_MOST_FILES]:
            documents += batch_size(name)
            size += size_of(name)
            if chosen and (documents > self._documents or size > _ROUND_BYTES):
                break
            chosen.append(name)
        return chosen

    def without_replaced(self, name: str, records: list[FetchRecord]) -> list[FetchRecord]:
        """Return the records of a file that no later file has replaced already."""
        if not self._replaced:
            return records
        number = batch_number(name)
        return [record for record in records if self._replaced.get(record.key, -1) <= number]

    def overtakes(self, name: str) -> bool:
        """Return whether a file of this round came after one that waits."""
        return batch_number(name) > self._oldest_left

    def note_indexed(self, name: str, records: Iterable[FetchRecord]) -> None:
        """Note what was indexed from a file of this round."""
        if self.overtakes(name):
            number = batch_number(name)
            self._replaced.update((record.key, number) for record in records)

    def note_round(self, documents: int, seconds: float) -> None:
        """Note how much CPU time a round took, for the size of the next: small segments cost more on a busy machine."""
        if 2 * documents >= _LEAST_DOCUMENTS:
            wanted = documents * _ROUND_SECONDS / max(seconds, 1e-3)
            mean = (self._documents + wanted) / 2
            self._documents = int(min(_MOST_DOCUMENTS, max(_LEAST_DOCUMENTS, mean)))
