"""What operators change: each change is made in one place, for API and admin page, and logged with its author."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException

from periplus.errors import BadInput, BadUrl, NothingHere, SettingsError
from periplus.serve.actions import Actions, CrawlLike
from periplus.serve.admin.admin_protocols import CrawlLimits, OperationsLike
from periplus.serve.api_keys import ApiKeys
from periplus.serve.collections.collection_protocols import CollectionsLike
from periplus.serve.rules.rule_protocols import RulesLike
from periplus.serve.workers.blocking_calls import call_in_thread

__all__ = ["AdminCommands"]

_COMMANDS: Final = ("pause", "resume", "stop")
_RUNNING: Final = "A crawl is already running, or there is no URL to start from: send seeds, or submit a site."
_MAX_SEEDS_SHOWN: Final = 5
_UNAVAILABLE: Final = "This is not available on this server."
_RULES_ID: Final = re.compile(r"[0-9a-f]{32}")
_MAX_SERVER_RULES: Final = 4
_SECONDS: Final = 60.0
"""What changes of collections may take."""


class AdminCommands:
    """Makes changes, and records who made them."""

    def __init__(self, actions: Actions, keys: ApiKeys) -> None:
        self._actions = actions
        self._keys = keys

    def operations(self) -> OperationsLike:
        """Return the operations of this server; raise `HTTPException` (501) if it has none."""
        if self._actions.operations is None:
            raise HTTPException(501, _UNAVAILABLE)
        return self._actions.operations

    def crawl(self) -> CrawlLike:
        """Return the control of the crawl; raise `HTTPException` (501) if there is none."""
        if self._actions.crawl is None:
            raise HTTPException(501, _UNAVAILABLE)
        return self._actions.crawl

    def _rules(self) -> RulesLike:
        if self._actions.rules is None:
            raise HTTPException(501, "This server has no rules.")
        return self._actions.rules

    def collections(self) -> CollectionsLike:
        """Return the collections of this server; raise `HTTPException` (501) if it has none."""
        if self._actions.collections is None:
            raise HTTPException(501, _UNAVAILABLE)
        return self._actions.collections

    async def record(self, who: str, what: str, detail: str = "") -> None:
        """Add a line to the log of changes, where there is one."""
        if self._actions.operations is not None:
            await call_in_thread(self._actions.operations.record_change, who, what, detail)

    async def start_crawl(self, who: str, seeds: Sequence[str], limits: CrawlLimits | None = None) -> None:
        """Start the crawl; raise `BadInput` if a seed or a setting is wrong, `HTTPException` (409) if it runs."""
        crawl = self.crawl()
        arguments: tuple[Any, ...] = (seeds,) if limits is None or limits == CrawlLimits() else (seeds, limits)
        try:
            await call_in_thread(crawl.start, *arguments)
        except BadUrl:
            raise
        except SettingsError as error:
            raise BadInput(error.message, error.hint) from None
        except BadInput as error:
            did_not_start = "did not start" in error.message or "not started yet" in error.message
            raise HTTPException(409, error.message if did_not_start else _RUNNING) from None
        await self.record(who, "start the crawl", _describe_start(seeds, limits))

    async def control_crawl(self, who: str, command: str) -> None:
        """Pause, resume or stop the crawl; raise `HTTPException` if none is running, or for another command."""
        crawl = self.crawl()
        if command not in _COMMANDS:
            raise HTTPException(400, "The commands are start, pause, resume and stop.")
        try:
            await call_in_thread({"pause": crawl.pause, "resume": crawl.resume, "stop": crawl.stop}[command])
        except BadInput:
            raise HTTPException(409, "No crawl is running.") from None
        await self.record(who, f"{command} the crawl")

    async def add_key(self, who: str, name: str, role: str, collections: Sequence[str] = ()) -> str:
        """Create a key; return its secret. Raise `BadInput` for a bad name or role.

        collections: what it is limited to.
        """
        self.operations()
        secret = await call_in_thread(self._keys.add, name, role, collections)
        limit = f", only {' '.join(collections)}" if collections else ""
        await self.record(who, "add a key", f"{name} ({role}{limit})")
        return secret

    async def remove_key(self, who: str, name: str) -> None:
        """Revoke a key; raise `BadInput` if there is none with this name, or no admin would be left."""
        self.operations()
        keys = self._keys.all()
        others = [key for key in keys if key.name != name]
        if len(others) < len(keys) and not any(key.allows("admin") for key in others):
            raise BadInput("This is the last key with the role admin.", "Add another one first.")
        await call_in_thread(self._keys.remove, name)
        await self.record(who, "revoke a key", name)

    async def block_host(self, who: str, host: str) -> str:
        """Block a host in the crawl; return its name in canonical form."""
        blocked = await call_in_thread(self.operations().block_host, host)
        await self.record(who, "block a host", blocked)
        return blocked

    async def unblock_host(self, who: str, host: str) -> str:
        """Unblock a host."""
        unblocked = await call_in_thread(self.operations().unblock_host, host)
        await self.record(who, "unblock a host", unblocked)
        return unblocked

    async def set_schedule(self, who: str, job: str, every_hours: float, minutes: float) -> None:
        """Set how often a job is done."""
        await call_in_thread(self.operations().set_schedule, job, every_hours, minutes)
        limit = f", for at most {minutes:g} minutes" if minutes else ""
        detail = f"{job} every {every_hours:g} hours{limit}" if every_hours else f"{job} never"
        await self.record(who, "change the schedule", detail)

    async def request_job(self, who: str, job: str) -> None:
        """Have a job done at once."""
        await call_in_thread(self.operations().request_job, job)
        await self.record(who, "do a job now", job)

    async def create_collection(self, who: str, name: str, fields: Mapping[str, Any], public: bool) -> dict[str, Any]:
        """Create a collection; raise `HTTPException` (409) if the name is taken, `BadInput` if it is wrong."""
        collections = self.collections()
        if collections.find(name) is not None:
            raise HTTPException(409, "There is already a collection or an alias with this name.")
        created: dict[str, Any] = await call_in_thread(collections.create, name, fields, public)
        await self.record(who, "create a collection", name)
        return created

    async def change_collection(
        self, who: str, name: str, fields: Mapping[str, Any] | None, public: bool | None
    ) -> dict[str, Any]:
        """Change the fields of a collection, or who may read it."""
        changed: dict[str, Any] = await call_in_thread(
            self.collections().change, name, fields, public, seconds=_SECONDS
        )
        readers = "" if public is None else ": public" if public else ": only with a key"
        await self.record(who, "change a collection", name + readers)
        return changed

    async def delete_collection(self, who: str, name: str) -> None:
        """Delete a collection with its documents; raise `BadInput` while an alias stands for it."""
        await call_in_thread(self.collections().delete, name)
        await self.record(who, "delete a collection", name)

    async def change_aliases(self, who: str, targets: Mapping[str, str], removed: Sequence[str]) -> dict[str, str]:
        """Set and remove aliases in one step; return all of them."""
        aliases: dict[str, str] = await call_in_thread(
            self.collections().change_aliases, targets, removed, seconds=_SECONDS
        )
        pieces = [f"{alias} is {name}" for alias, name in targets.items()] + [f"no {alias}" for alias in removed]
        await self.record(who, "change aliases", ", ".join(pieces))
        return aliases

    async def set_server_rules(self, who: str, ids: Sequence[str]) -> tuple[str, ...]:
        """Set which rule sets count for everybody; raise `HTTPException` (404) for one that is not stored."""
        rules = self._rules()
        try:
            chosen: tuple[str, ...] = await call_in_thread(rules.set_server_ids, ids)
        except NothingHere:
            raise HTTPException(404, "There are no rules with one of these ids.") from None
        await self.record(who, "set the rules of the server", ", ".join(chosen))
        return chosen

    async def add_server_rules(self, who: str, text: str, name: str) -> None:
        """Store a rule set, or take a stored one by its id, and apply it for everybody."""
        rules = self._rules()
        identifier = text.strip().rpartition("/")[2]
        if not _RULES_ID.fullmatch(identifier):
            identifier = (await call_in_thread(lambda: rules.add(text, "auto", name))).id
        ids = list(dict.fromkeys([*await call_in_thread(rules.server_ids), identifier]))
        if len(ids) > _MAX_SERVER_RULES:
            raise BadInput(f"At most {_MAX_SERVER_RULES} rule sets count for everybody.", "Remove one first.")
        await self.set_server_rules(who, ids)

    async def remove_server_rules(self, who: str, identifier: str) -> None:
        """Apply a rule set to everybody no longer."""
        ids = await call_in_thread(self._rules().server_ids)
        await self.set_server_rules(who, [known for known in ids if known != identifier])


def _describe_start(seeds: Sequence[str], limits: CrawlLimits | None) -> str:
    more = f" and {len(seeds) - _MAX_SEEDS_SHOWN} more" if len(seeds) > _MAX_SEEDS_SHOWN else ""
    shown = " ".join(seeds[:_MAX_SEEDS_SHOWN]) + more if seeds else "where it stopped"
    fields = ("pages", "host_pages", "minutes", "depth", "scope", "recrawl")
    values = [(name, getattr(limits, name)) for name in fields] if limits is not None else []
    return "; ".join([shown, *(f"{name} {value}" for name, value in values if value is not None)])
