"""Rule sets of a data folder: imported from files, shown, and applied to all searches."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.app.administration.change_log import record_command
from periplus.errors import BadInput
from periplus.files import disk_errors, open_data_folder

if TYPE_CHECKING:
    from periplus.result_rules import RuleSet

__all__ = ["add_rules", "find_rules", "set_server_rules"]

_MAX_BYTES: Final = 64 << 20
"""Of a file that is read to say what is wrong with it."""


def add_rules(folder: Path, source: str | Path, name: str = "", *, everybody: bool = False) -> "RuleSet":
    """Store the rules of a text or a file; raise `BadInput`, with the number of the line, if they are not accepted.

    everybody: whether they count for all searches, too.
    """
    from periplus.result_rules import RuleStore

    store = RuleStore(open_data_folder(folder, create=True))
    if isinstance(source, Path):
        if not source.is_file():
            raise BadInput(f"There is no file {source}.", "Give the path of a file of rules.")
        name = name or source.stem
        with disk_errors(source), source.open("rb") as file:
            source = file.read(_MAX_BYTES).decode("utf-8", "replace")
    rules = store.add(source, name=name)
    if everybody:
        chosen = store.set_server_ids((*store.server_ids(), rules.id))
        record_command(folder, "set the rules of the server", ", ".join(chosen))
    return rules


def find_rules(folder: Path, identifier: str) -> "RuleSet":
    """Return a rule set by its id; raise `NothingHere` if there is none."""
    from periplus.result_rules import RuleStore

    return RuleStore(open_data_folder(folder, create=False)).get(identifier)


def set_server_rules(folder: Path, ids: Sequence[str] | None) -> tuple[str, ...]:
    """Set which rule sets count for all searches, unless that is None; return them."""
    from periplus.result_rules import RuleStore

    store = RuleStore(open_data_folder(folder, create=False))
    if ids is None:
        return store.server_ids()
    chosen = store.set_server_ids(ids)
    record_command(folder, "set the rules of the server", ", ".join(chosen))
    return chosen
