"""The fields that documents have besides their text: the tables [fields.NAME] of periplus.toml."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from periplus.errors import SettingsError
from periplus.settings_section import Section
from periplus.typed_decoding import convert_to

__all__ = ["FieldSettings", "read_field_settings"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_FIELDS: Final = 200
_RESERVED: Final = frozenset(
    {"site", "lang", "filetype", "type", "before", "after", "link", "title", "text", "content", "url"}
    | {"intitle", "inheading", "inurl", "inanchor", "intext", "and", "or", "not"}
)
"""Names that have a meaning of their own in queries or documents."""


class FieldSettings(Section, frozen=True):
    """A field of documents that are sent to `/api/documents`: `[fields.price]`, `[fields.brand]`."""

    type: Annotated[
        str,
        Meta(
            description="keyword (a string, or several), number, date, boolean, or text, which is searched",
            pattern="^(keyword|number|date|boolean|text)$",
        ),
    ] = "keyword"
    filter: Annotated[bool, Meta(description="Whether queries can be restricted by it")] = True
    facet: Annotated[bool, Meta(description="Whether its values can be counted")] = True
    sort: Annotated[bool, Meta(description="Whether results can be sorted by it; not of type text")] = True

    @property
    def has_column(self) -> bool:
        """Whether its values are stored as a column."""
        return self.type != "text"


def read_field_settings(tables: Any, source: str) -> dict[str, FieldSettings]:
    """Return the fields of a table of them; raise `SettingsError` with the field that is wrong."""
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        hint = 'Write [fields.price] with type = "number".'
        raise SettingsError(f"'fields' {source} is not a table of fields.", hint)
    if len(tables) > _MAX_FIELDS:
        raise SettingsError(f"There are {len(tables):,} fields {source}.", f"Declare at most {_MAX_FIELDS}.")
    return {name: _read_field(name, table, f"[fields.{str(name)[:80]}] {source}") for name, table in tables.items()}


def _read_field(name: str, table: Mapping[str, Any], where: str) -> FieldSettings:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name.lower() in _RESERVED:
        hint = "A name has letters, digits and _, and is no word of the query language."
        raise SettingsError(f"{where}: a field cannot have this name.", hint)
    unknown = [key for key in table if key not in FieldSettings.__struct_fields__]
    if unknown:
        names = ", ".join(FieldSettings.__struct_fields__)
        raise SettingsError(f"{where}: unknown setting '{str(unknown[0])[:80]}'.", f"There are: {names}.")
    try:
        return convert_to(dict(table), FieldSettings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where} has a wrong value: {error}.", "See docs/documents.md.") from None
