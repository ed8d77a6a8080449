"""A writer that is really killed, in its own process."""

import signal
import subprocess
import sys
from pathlib import Path

from store_samples import make_record

from periplus.settings import StoreSettings
from periplus.store import PageStore

WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from store_samples import make_result, make_record
from periplus.settings import StoreSettings
from periplus.store import PageStore
store = PageStore.open(Path(sys.argv[1]), StoreSettings(), write=True)
n = 0
while True:
    store.append(make_record(n), make_result(n, b"body %d" % n))
    n += 1
    if n % 7 == 0:
        store.flush()
        sys.stdout.write(f"{n}\\n")
        sys.stdout.flush()
    if n % 50 == 0:
        store.commit()
"""


def test_what_was_flushed_survives_a_kill(tmp_path):
    folder = tmp_path / "store"
    command = [sys.executable, "-c", WRITER, str(folder), str(Path(__file__).parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        told = 0
        while told < 1000:
            told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        told = int((b"%d\n" % told + writer.stdout.read()).splitlines()[-1])
    with PageStore.open(folder, StoreSettings(), write=True) as store:
        found = list(store.records())
        assert len(found) >= told
        assert [one.key for one in found] == list(range(1, len(found) + 1))
        assert all(store.read_response(one).body == b"body %d" % n for n, one in enumerate(found))
        store.append(make_record(len(found)))
    assert PageStore.open(folder, StoreSettings()).statistics().records == len(found) + 1
