"""Wait for a condition, not for seconds; a busy machine may take long."""

import time
from collections.abc import Callable
from typing import Any

SECONDS = 120.0


def wait_until(condition: Callable[[], Any]) -> None:
    """Return when a condition holds; fail if it does not within two minutes."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.01)
