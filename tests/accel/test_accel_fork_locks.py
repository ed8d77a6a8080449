"""A child that was forked while another thread compiled can compile, too."""

import subprocess
import sys

PROGRAM = """
import os, threading, time
import periplus.accel
from numba import njit
from numba.core.compiler_lock import global_compiler_lock
import llvmlite.binding as llvm

compiling = threading.Event()

def compile_for_a_while(lock):
    with lock:
        compiling.set()
        time.sleep(0.3)

for lock in (global_compiler_lock, llvm.ffi.lib._lock):
    compiling.clear()
    thread = threading.Thread(target=compile_for_a_while, args=(lock,))
    thread.start()
    compiling.wait()
    child = os.fork()
    if not child:
        # In the main thread: a new one may have the identity of the one that is gone, and with it the lock.
        free = lock._lock.acquire(timeout=10)
        os._exit(0 if free and njit(lambda number: number + 1)(2) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0, "the child waits for a lock that nobody will release"
    thread.join()
    with lock:  # it is free in the parent
        pass
"""


def test_a_forked_child_can_compile() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
