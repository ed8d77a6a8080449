"""The media tab: the images, audio and video of results as cards of text. Nothing is loaded before it is requested."""

from collections.abc import Sequence
from html import escape
from typing import Final

from periplus.records import Hit, Media
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.page_links import result_link, safe_link

__all__ = ["MEDIA_POLICY", "write_media"]

MEDIA_POLICY: Final = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https: http:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Allows images from any site; the page itself loads none."""
_PER_PAGE: Final = 4
"""Media shown of one page."""
_NAMES: Final = {"image": "image", "audio": "audio", "video": "video"}


def write_media(hits: Sequence[Hit], words: str, locale: Locale) -> str:
    """Return a card for each of the media of the results; of one page, those that mention a query word come first."""
    terms = set(words.casefold().split())
    cards = []
    for number, hit in enumerate(hits, 1):
        ranked = sorted(hit.media, key=lambda media: terms.isdisjoint(media.text.casefold().split()))
        for n, media in enumerate([media for media in ranked if safe_link(media.url)][:_PER_PAGE]):
            cards.append(_card(hit, media, f"r{number}" if not n else "", locale))
    return "\n".join(cards)


def _card(hit: Hit, media: Media, name: str, locale: Locale) -> str:
    host = hit.breadcrumbs[0] if hit.breadcrumbs else ""
    page, title = result_link(hit), hit.title.strip() or host
    anchor = f' id="{name}"' if name else ""
    return (
        f'<li class="card-media result {media.kind}"{anchor} data-host="{escape(host)}">'
        f'<a class="thing" href="{escape(media.url)}" rel="noreferrer">'
        f'<span class="kind">{locale.translate_escaped(_NAMES.get(media.kind, "image"))}</span>'
        f'<span class="words" dir="auto">{escape(media.text)}</span></a>'
        f'<a class="title" href="{escape(page)}" rel="noreferrer" dir="auto">{escape(title)}</a>'
        f'<span class="breadcrumbs">{escape(host)}</span></li>'
    )
