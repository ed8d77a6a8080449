"""Forms with files (multipart/form-data, RFC 7578): parsed within bounds."""

import re
from typing import Final, NamedTuple

from starlette.exceptions import HTTPException

from periplus.errors import BadInput

__all__ = ["FormFile", "UploadForm", "parse_multipart"]

_MAX_PARTS: Final = 30
_MAX_HEAD: Final = 2_000
_MAX_FIELD: Final = 1_000_000
_BOUNDARY: Final = re.compile(r'multipart/form-data\s*;.*?\bboundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))', re.I)
_NAME: Final = re.compile(rb'[; ]name="([^"\r\n]{1,100})"', re.IGNORECASE)
_FILE_NAME: Final = re.compile(rb'[; ]filename="([^"\r\n]{0,500})"', re.IGNORECASE)


class FormFile(NamedTuple):
    """A file of a form."""

    name: str
    data: bytes


class UploadForm(NamedTuple):
    """The fields and files of a form, by name."""

    fields: dict[str, str]
    files: dict[str, FormFile]


def parse_multipart(content_type: str, body: bytes) -> UploadForm:
    """Return the fields and files of a form; raise `HTTPException` (415) or `BadInput` if it is none."""
    match = _BOUNDARY.match(content_type[:500])
    if match is None:
        raise HTTPException(415, "Send multipart/form-data.")
    boundary = b"--" + (match[1] or match[2]).encode("latin-1", "replace")
    parts = (b"\r\n" + body).split(b"\r\n" + boundary, _MAX_PARTS + 2)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise BadInput("The form is incomplete, or has too many fields.")
    form = UploadForm({}, {})
    for part in parts[1:-1]:
        _add_part(form, part)
    return form


def _add_part(form: UploadForm, part: bytes) -> None:
    head, separator, data = part.partition(b"\r\n\r\n")
    name = _NAME.search(head[:_MAX_HEAD])
    if not separator or name is None:
        raise BadInput("A part of the form has no name.")
    field, file_name = name[1].decode("utf-8", "replace"), _FILE_NAME.search(head[:_MAX_HEAD])
    if file_name is not None:
        base = file_name[1].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
        form.files[field] = FormFile(base, data)
    elif len(data) > _MAX_FIELD:
        raise BadInput(f"The field '{field[:40]}' is too long.")
    else:
        form.fields[field] = data.decode("utf-8", "replace")
