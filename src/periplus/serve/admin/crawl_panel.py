"""The panel of the crawl: what it does, what limits cut, what fails, and what can be done about it now."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from periplus.serve.admin.admin_plots import bars

__all__ = ["NO_CRAWL", "crawl_panel"]

NO_CRAWL: Final = {
    "running": False,
    "state": "none",
    "pages": 0,
    "rate": 0.0,
    "waiting": 0,
    "busy": 0,
    "recent": (),
    "paused": "",
}
"""The status when there never was a crawl."""
_ACTIONS: Final = {"running": ("pause", "stop"), "paused": ("resume", "stop"), "stopping": ()}
"""What can be done about a crawl that runs, by its state."""
_MAX_ROWS: Final = 10
_MAX_EXAMPLES: Final = 3


def crawl_panel(crawl: Mapping[str, Any], failures: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the variables of the panel.

    crawl: the status of the crawl; failures: requests that failed lately, by outcome.
    """
    return {
        "crawl": crawl,
        "crawl_actions": _ACTIONS.get(crawl["state"], ("stop",)) if crawl["running"] else (),
        "can_start": not crawl["running"],
        "errors": bars(sorted(crawl.get("errors", {}).items())),
        "failures": {name: list(examples)[:_MAX_EXAMPLES] for name, examples in failures.items()},
        "slowest": bars([(host, seconds) for host, seconds in crawl.get("slowest", ())]),
        "under_way": list(crawl.get("under_way", ()))[:_MAX_ROWS] if crawl["running"] else [],
        "shards": list(crawl.get("shards", ())),
        "cuts": [cut for cut in crawl.get("cuts", ()) if cut.get("count")],
        "host_rows": list(crawl.get("host_rows", ()))[:_MAX_ROWS],
    }
