"""A link farm: many hosts that exist to promote one, which is stuffed with keywords. None of its pages is good."""

import random
import zlib
from collections.abc import Callable
from html import escape
from typing import Final

from periplus.fakeweb.content.prose_writer import ProseWriter
from periplus.fakeweb.content.subjects import subject
from periplus.fakeweb.content.word_lists import english_topics, topics
from periplus.fakeweb.server.fake_response import FakeResponse, html_response

__all__ = ["FARM_BOOSTERS", "FARM_TARGET", "make_booster_handler", "respond_as_target"]

FARM_TARGET: Final = "lucky-vouchers.test"
"""The host that the farm promotes."""
FARM_BOOSTERS: Final = tuple(f"best-links-{number}.test" for number in range(1, 21))
_PAGES: Final = 12
_OFFERS: Final = 8


def respond_as_target(path: str) -> FakeResponse:
    """Respond for the farm's target: a home page, and pages stuffed with words of other hosts' subjects."""
    offers = [f"/offer/{number}.html" for number in range(_OFFERS)]
    if path == "/":
        return html_response(200, "Lucky vouchers", _words(path) + _links([(offer, "best offer") for offer in offers]))
    if path not in offers:
        return html_response(404, "Not found")
    topic = topics()[english_topics()[offers.index(path) % len(english_topics())]]
    stuffing = " ".join(f"{thing} {aspect}" for thing in topic.things[:3] for aspect in topic.aspects[:3])
    body = "".join(f"<p>{escape(stuffing)} vouchers, {escape(stuffing)} cheap.</p>\n" for _ in range(6))
    return html_response(200, f"Cheap {escape(topic.things[0])}", body + _links([("/", "Lucky vouchers")]))


def make_booster_handler(number: int) -> Callable[[str], FakeResponse]:
    """Return the handler of a booster host: every page links to the farm's target and to other boosters."""

    def answer(path: str) -> FakeResponse:
        own = ["/", *(f"/list/{page}.html" for page in range(1, _PAGES))]
        if path not in own:
            return html_response(404, "Not found")
        page_number = own.index(path)
        offer = f"http://{FARM_TARGET}/offer/{(number + page_number) % _OFFERS}.html"
        others = [FARM_BOOSTERS[(number + step * step + page_number) % len(FARM_BOOSTERS)] for step in range(1, 5)]
        links = [(f"http://{FARM_TARGET}/", "Lucky vouchers"), (offer, "best offer")]
        links += [(f"http://{other}/", "more links") for other in others]
        links += [(page, f"list {count}") for count, page in enumerate(own)]
        return html_response(200, f"Best links {number}, list {page_number}", _words(f"{number}{path}") + _links(links))

    return answer


def _words(seed: str) -> str:
    rng = random.Random(zlib.crc32(seed.encode("utf-8", "surrogateescape")))
    topic = topics()[rng.choice(english_topics())]
    writer = ProseWriter(topic, subject(topic, rng.randrange(200), 0), rng)
    return "".join(f"<p>{escape(writer.paragraph(), quote=False)}</p>\n" for _ in range(2))


def _links(links: list[tuple[str, str]]) -> str:
    return "".join(f'<p><a href="{escape(url)}">{escape(text)}</a></p>\n' for url, text in links)
