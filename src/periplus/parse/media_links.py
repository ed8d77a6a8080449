"""Media that plain links lead to, and words for them."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from periplus.parse.link_survey import survey_links
from periplus.parse.media_kinds import media_kind
from periplus.parse.text_cleanup import one_line
from periplus.records import Link, Media

__all__ = ["linked_media"]

_MAX_LINKED: Final = 50
_MAX_TEXT: Final = 300
_SEPARATORS: Final = re.compile(r"[\s_\-+.]+")


def linked_media(links: Sequence[Link]) -> list[Media]:
    """Return what links of a page lead to if that is a medium: described by the link's text, or by the file's name."""
    if not survey_links(links).media:
        return []
    media = []
    for link in links:
        kind = media_kind(link.url)
        if kind:
            media.append(Media(link.url, kind, _describe(link)))
            if len(media) >= _MAX_LINKED:
                break
    return media


def _describe(link: Link) -> str:
    """Return the text of a link together with the words of the file's name, where the text does not have them."""
    name = link.url.partition("?")[0].rpartition("/")[2].rpartition(".")[0]
    words = _SEPARATORS.sub(" ", unquote(name)).strip()
    text = link.text.strip()
    if not text or text.lower() == name.lower():
        return one_line(words, _MAX_TEXT)
    return one_line(text if words.lower() in text.lower() else f"{text} ({words})", _MAX_TEXT)
