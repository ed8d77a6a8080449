"""Trimming and kill -9: the newest response of every page is readable, whatever the moment."""

import multiprocessing
import os
import random
import signal
import time

from store_samples import make_record, make_result

from periplus.records import Outcome
from periplus.settings import StoreSettings
from periplus.store import PageStore

SETTINGS = StoreSettings(rotate_bytes=65_536)
PAGES = 40


def work(folder, pipe):
    """Store all pages again and again; let go of old ones after each round."""
    with PageStore.open(folder, SETTINGS, write=True) as store:
        for turn in range(1_000_000):
            for number in range(PAGES):
                store.append(make_record(number), make_result(number, b"%d " % turn + os.urandom(1_500)))
            store.commit()
            pipe.send(turn)
            store.apply_retention(keep_bytes=100_000)


def test_the_newest_responses_survive_kills(tmp_path):
    context = multiprocessing.get_context("fork")
    chance = random.Random(3)
    for _ in range(8):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(tmp_path, there))
        process.start()
        there.close()
        here.recv()
        time.sleep(chance.random() * 0.15)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with PageStore.open(tmp_path, SETTINGS, write=True) as store:
            newest = {found.key: found for found in store.records() if found.outcome is Outcome.OK}
            assert len(newest) == PAGES
            for found in newest.values():
                assert store.read_response(found).url == found.url
    with PageStore.open(tmp_path, SETTINGS, write=True) as store:
        store.apply_retention(keep_bytes=1)
        assert store.statistics().warc_bytes < 500_000
