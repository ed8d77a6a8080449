"""The own fields that settings declare, applied to a data folder, unless stored documents contradict them."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from periplus.errors import BadInput, NothingHere
from periplus.files import DataFolder
from periplus.settings import FieldSettings

__all__ = ["apply_fields"]


def apply_fields(folder: Path, fields: Mapping[str, FieldSettings]) -> None:
    """Write the schema of the index; raise `BadInput` with the field and a document whose value does not fit."""
    from periplus.index import read_schema, write_schema

    index = DataFolder(folder).index
    before = read_schema(index)
    if before == dict(fields):
        return
    changed = {name: field for name, field in fields.items() if name not in before or before[name].type != field.type}
    if changed:
        _check_documents(index, changed)
    write_schema(index, fields)


def _check_documents(folder: Path, fields: Mapping[str, FieldSettings]) -> None:
    """Raise `BadInput` for the first live document with a value that its field does not take."""
    from periplus.index import Index, convert_value

    try:
        index = Index.open(folder, verify=False)
    except NothingHere:
        return
    for segment in index.segments:
        own = segment.own_fields
        for document in segment.is_live.nonzero()[0].tolist() if own.exists else ():
            values = msgspec.json.decode(own.source(document) or b"{}")
            for name in fields.keys() & values.keys():
                try:
                    convert_value(fields[name], values[name])
                except ValueError as error:
                    raise BadInput(
                        f"The field '{name}' cannot be declared as {fields[name].type}: {error} "
                        f"({segment.string('url', document)[:200]}).",
                        "Choose another type, or send these documents again first.",
                    ) from None
