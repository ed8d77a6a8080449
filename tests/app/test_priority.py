"""Crawls and builds have a lower priority than searches."""

import os
import subprocess
import sys

PROGRAM = """
import os
from periplus.app import lower_priority
before = os.getpriority(os.PRIO_PROCESS, 0)
lower_priority()
lower_priority()
print(os.getpriority(os.PRIO_PROCESS, 0) - before)
"""


def test_the_priority_is_lowered_once() -> None:
    lowered = int(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, text=True).stdout)
    assert lowered == max(0, 5 - os.getpriority(os.PRIO_PROCESS, 0))
