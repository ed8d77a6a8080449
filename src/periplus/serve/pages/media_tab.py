"""The media tab: images, audio and video of results as cards, with thumbnails from this server where there are some.

Nothing is loaded from another site: an image without a thumbnail is a card of text.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from periplus.hashing import fingerprint_text
from periplus.records import Hit, Media
from periplus.serve.pages.locales import Locale
from periplus.serve.pages.page_links import result_link, safe_link

__all__ = ["HasThumbnail", "icon_html", "thumbnail_link", "write_media"]

_PER_PAGE: Final = 4
"""Media shown of one page."""
_NAMES: Final = {"image": "image", "audio": "audio", "video": "video"}

HasThumbnail = Callable[[str], bool]
"""Returns whether there is a thumbnail of an image, by its URL."""


def thumbnail_link(url: str) -> str:
    """Return the link of the thumbnail of an image."""
    return f"/t/{fingerprint_text(url):016x}.webp"


def icon_html(page_url: str, has_thumbnail: HasThumbnail) -> str:
    """Return the icon of a page's host, if there is one."""
    scheme, separator, rest = page_url.partition("://")
    icon = f"{scheme}://{rest.partition('/')[0]}/favicon.ico" if separator else ""
    if not icon or not has_thumbnail(icon):
        return ""
    return f'<img class="icon" src="{thumbnail_link(icon)}" width="16" height="16" alt="" loading="lazy">'


def write_media(hits: Sequence[Hit], words: str, locale: Locale, has_thumbnail: HasThumbnail) -> str:
    """Return a card for each of the media of the results; of one page, those that mention a query word come first."""
    terms = set(words.casefold().split())
    cards = []
    for number, hit in enumerate(hits, 1):
        ranked = sorted(hit.media, key=lambda media: terms.isdisjoint(media.text.casefold().split()))
        for n, media in enumerate([media for media in ranked if safe_link(media.url)][:_PER_PAGE]):
            cards.append(_card(hit, media, f"r{number}" if not n else "", locale, has_thumbnail))
    return "\n".join(cards)


def _card(hit: Hit, media: Media, name: str, locale: Locale, has_thumbnail: HasThumbnail) -> str:
    host = hit.breadcrumbs[0] if hit.breadcrumbs else ""
    page, title = result_link(hit), hit.title.strip() or host
    anchor = f' id="{name}"' if name else ""
    picture, kind = "", f'<span class="kind">{locale.translate_escaped(_NAMES.get(media.kind, "image"))}</span>'
    if media.kind == "image" and has_thumbnail(media.url):
        picture, kind = f'<img src="{thumbnail_link(media.url)}" alt="" loading="lazy" decoding="async">', ""
    return (
        f'<li class="card-media result {media.kind}"{anchor} data-host="{escape(host)}">'
        f'<a class="thing" href="{escape(media.url)}" rel="noreferrer">{picture}{kind}'
        f'<span class="words" dir="auto">{escape(media.text)}</span></a>'
        f'<a class="title" href="{escape(page)}" rel="noreferrer" dir="auto">{escape(title)}</a>'
        f'<span class="breadcrumbs">{escape(host)}</span></li>'
    )
