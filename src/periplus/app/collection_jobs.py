"""The named collections of a data folder, without a server: create, list and delete them, and set aliases."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from periplus.app.administration.change_log import record_command
from periplus.app.serving.collection_service import create_collection as create_in
from periplus.app.serving.collection_service import describe_collection
from periplus.files import open_data_folder

if TYPE_CHECKING:
    from periplus.publish import CollectionCatalog

__all__ = ["change_aliases", "create_collection", "delete_collection", "list_collections"]


def create_collection(folder: Path, name: str, fields: Mapping[str, Any], *, public: bool) -> dict[str, Any]:
    """Create a collection with own fields; raise `BadInput` for a name or a field that is wrong."""
    catalog = _catalog(folder)
    created = create_in(catalog, name, fields, public)
    record_command(folder, "create a collection", name)
    return describe_collection(catalog, created)


def list_collections(folder: Path) -> list[dict[str, Any]]:
    """Return all collections, with their fields and aliases."""
    catalog = _catalog(folder)
    return [describe_collection(catalog, collection) for collection in catalog.all()]


def delete_collection(folder: Path, name: str) -> None:
    """Delete a collection with its documents; raise `BadInput` if there is none, or an alias stands for it."""
    _catalog(folder).delete(name)
    record_command(folder, "delete a collection", name)


def change_aliases(folder: Path, targets: Mapping[str, str], removed: Sequence[str] = ()) -> dict[str, str]:
    """Set and remove aliases in one step; return all of them."""
    aliases = _catalog(folder).change_aliases(targets, removed)
    pieces = [f"{alias} is {name}" for alias, name in targets.items()] + [f"no {alias}" for alias in removed]
    record_command(folder, "change aliases", ", ".join(pieces))
    return aliases


def _catalog(folder: Path) -> "CollectionCatalog":
    from periplus.publish import CollectionCatalog

    return CollectionCatalog(open_data_folder(folder, create=True))
