"""Whose turn it is in the inbox: few do not wait behind many, and the last version stays."""

import random
from pathlib import Path

import numpy as np

from periplus.index import Index, LiveIndex
from periplus.publish import DocumentConverter, Inbox, PublicationStore, publish_pending
from periplus.publish.inbox_files import batch_name, batch_number, batch_size
from periplus.publish.inbox_queue import InboxQueue
from periplus.records import FetchRecord
from periplus.settings import Settings
from periplus.store import PageStore


def document(number: int, version: int) -> FetchRecord:
    return DocumentConverter({}).convert(b'{"id": %d, "title": "Tide %d"}' % (number, version))


def test_few_documents_are_next_after_one_round_of_many() -> None:
    queue = InboxQueue()
    names = [batch_name(number, 1_024) for number in range(20)]
    assert queue.next_round(names, lambda name: 1_000) == names[:4]
    few = batch_name(50, 3)
    assert queue.next_round([*names[4:], few], lambda name: 1_000) == [few]
    assert queue.overtakes(few)
    assert queue.next_round([*names[4:], batch_name(60, 1)], lambda name: 1_000) == names[4:8], (
        "many have their turn too"
    )
    assert queue.next_round(names[8:], lambda name: 20 << 20) == names[8:9], "bytes count as well"


def test_a_round_has_what_takes_about_half_a_second() -> None:
    queue, names = InboxQueue(), [batch_name(number, 1_024) for number in range(400)]
    for _ in range(20):
        queue.note_round(sum(map(batch_size, queue.next_round(names, lambda name: 0))), 0.1)
    assert sum(map(batch_size, queue.next_round(names, lambda name: 0))) == 16_384
    for _ in range(20):
        queue.note_round(sum(map(batch_size, queue.next_round(names, lambda name: 0))), 60.0)
    assert sum(map(batch_size, queue.next_round(names, lambda name: 0))) == 4_096


def test_whatever_the_order_the_last_version_stays_in_index_and_store(tmp_path: Path) -> None:
    chance = random.Random(7)
    inbox, last = Inbox(tmp_path), dict[int, int]()
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        for version in range(40):
            many = chance.random() < 0.5
            keys = chance.sample(range(100), 80 if many else chance.randrange(1, 4))
            inbox.add_batch([document(key, version % 7) for key in keys])
            last |= dict.fromkeys(keys, version % 7)
            if chance.random() < 0.3:
                publish_pending(live, inbox)
            if chance.random() < 0.2:
                inbox.move_to_store(Settings().store)
            if chance.random() < 0.1:  # a process that has ended, and the next one
                inbox = Inbox(tmp_path)
                inbox.requeue_indexed()
        while publish_pending(live, inbox):
            pass
    assert inbox.move_to_store(Settings().store)
    titles = {
        segment.string("url", number): segment.string("title", number)
        for segment in Index.open(tmp_path / "index").segments
        for number in np.flatnonzero(segment.is_live).tolist()
    }
    expected = {f"https://published.invalid/{key}": f"Tide {version}" for key, version in last.items()}
    assert titles == expected
    with PageStore.open(tmp_path / "store", Settings().store) as store:
        stored = {record.url: record.page.title for record in store.records() if record.page}
    assert stored == expected


def test_a_batch_that_was_indexed_by_a_process_that_ended_is_stored(tmp_path: Path) -> None:
    with LiveIndex(tmp_path / "index", Settings().index, background=False) as live:
        inbox = Inbox(tmp_path)
        inbox.add_batch([document(1, 1), document(2, 1)])
        publish_pending(live, inbox)
        after = Inbox(tmp_path)  # the first ended before it moved the batch
        after.requeue_indexed()
        publish_pending(live, after)
        again = after.add_batch([document(1, 1)])
        publish_pending(live, after)
        names = [path.name for path in (tmp_path / "inbox").iterdir()]
        assert all(batch_number(name) != again for name in names), "nothing changed"
    assert after.move_to_store(Settings().store)
    PublicationStore(tmp_path, Settings().store).create()
    with PageStore.open(tmp_path / "store", Settings().store) as store:
        assert len(list(store.records())) == 2
