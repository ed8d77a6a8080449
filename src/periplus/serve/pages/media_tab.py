"""The media tab: what results show, as cards of text. Nothing is loaded from anywhere before somebody asks for it."""

from collections.abc import Sequence
from html import escape
from typing import Final

from periplus.records import Hit, Media
from periplus.serve.pages.locales import Tongue
from periplus.serve.pages.page_links import safe_link, shown_link

__all__ = ["MEDIA_POLICY", "write_media"]

MEDIA_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https: http:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Pictures may come from anywhere here; the page itself asks for none."""
_EACH: Final = 4
"""Media of one page that are shown."""
_NAMES: Final = {"image": "picture", "audio": "sound", "video": "film"}


def write_media(hits: Sequence[Hit], words: str, tongue: Tongue) -> str:
    """Write a card for each picture, sound and film of the results, those that name a word of the query first."""
    asked = set(words.casefold().split())
    cards = []
    for place, hit in enumerate(hits, 1):
        fitting = sorted(hit.media, key=lambda one: asked.isdisjoint(one.text.casefold().split()))
        for number, one in enumerate([one for one in fitting if safe_link(one.url)][:_EACH]):
            cards.append(_card(hit, one, f"r{place}" if not number else "", tongue))
    return "\n".join(cards)


def _card(hit: Hit, media: Media, name: str, tongue: Tongue) -> str:
    host = hit.breadcrumbs[0] if hit.breadcrumbs else ""
    page, title = shown_link(hit), hit.title.strip() or host
    spot = f' id="{name}"' if name else ""
    return (
        f'<li class="card-media result {media.kind}"{spot} data-host="{escape(host)}">'
        f'<a class="thing" href="{escape(media.url)}" rel="noreferrer">'
        f'<span class="kind">{tongue.escaped(_NAMES.get(media.kind, "picture"))}</span>'
        f'<span class="words" dir="auto">{escape(media.text)}</span></a>'
        f'<a class="title" href="{escape(page)}" rel="noreferrer" dir="auto">{escape(title)}</a>'
        f'<span class="trail">{escape(host)}</span></li>'
    )
