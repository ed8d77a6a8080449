"""Ten results as a search on the web has them: titles, addresses and snippets that have little in common."""

import msgspec
from fake_searcher import hit

from periplus.hashing import fingerprint_text
from periplus.records import Query, ResultPage

RESULTS = (
    (
        "Lighthouse",
        "en.example.org/wiki/Lighthouse",
        "A lighthouse is a tower, building, or other type of physical structure designed to emit light from a "
        "system of lamps and lenses and to serve as a beacon for navigational aid for maritime pilots at sea "
        "or on inland waterways.",
    ),
    (
        "Fog signals: a short history of sound at sea",
        "museum.example.com/collections/fog-signals",
        "Before radar, ships groped their way past headlands by ear. Bells came first, then guns fired at "
        "intervals, and from the 1860s steam whistles and sirens whose drone carried for miles.",
    ),
    (
        "Becoming a keeper at Cape Disappointment | State Parks",
        "parks.example.gov/volunteer/keepers",
        "Applicants stay for at least thirty days, greet visitors, polish brass and sweep 47 steps each "
        "morning. Housing, firewood and a spectacular view are included; pay is not.",
    ),
    (
        "Fresnel lens - how it works, with diagrams",
        "optics.example.edu/~hale/notes/fresnel.html",
        "By dividing the lens into concentric annular sections, Augustin-Jean Fresnel reduced the amount of "
        "glass required, so that a beam of only modest brightness became visible over the horizon.",
    ),
    (
        "The last lightkeepers of British Columbia leave their stations",
        "news.example.ca/2024/09/lightkeepers-automation",
        "Twenty-seven stations are still staffed along the coast. Mariners, floatplane pilots and kayakers "
        "say the weather reports that people radio in every three hours save lives.",
    ),
    (
        "List of lighthouses in Brittany",
        "fr.example.net/phares/bretagne",
        "Ar-Men, La Jument, Kéréon and Le Créac'h guard the Iroise, among the most dangerous waters of "
        "Europe. Height, focal plane, range and character of each light are given below.",
    ),
    (
        "DIY: solar powered model with a rotating beacon",
        "forum.example.io/t/solar-beacon/48213",
        "I used an attiny85, two salvaged phone batteries and a geared motor from a microwave turntable. "
        "Total cost was under eleven dollars, and it has run through two winters on my porch.",
    ),
    (
        "Flannan Isles mystery explained?",
        "archive.example.uk/flannan-1900",
        "On Boxing Day 1900 the relief tender Hesperus found the clock stopped, the beds unmade and no trace "
        "of Ducat, Marshall or McArthur. Later inspection of the west landing suggests a freak wave.",
    ),
    (
        "Notice to Mariners 31/2025 (PDF)",
        "hydro.example.int/ntm/2025-31.pdf",
        "Amend light to Fl(2)W 10s 37m 21M; delete fog signal Horn(3) 60s in position 50 02.9 N, 005 44.8 W. "
        "Charts affected: 777, 1148, 2565. Source: Trinity House 88/25.",
    ),
    (
        "Why keepers counted hours: wages, whale oil and watches",
        "journal.example.org/articles/10.5555/lk.77",
        "Payroll ledgers between 1871 and 1912 show night watches of four hours, rations of salted beef, and "
        "fines for extinguished wicks. Women held about one appointment in twenty.",
    ),
)


def real_page(query: Query) -> ResultPage:
    """Return the page of ten results."""
    hits = []
    for number, (title, place, text) in enumerate(RESULTS):
        before, _, after = text.partition(" of ")
        url = f"https://{place}"
        changes = {
            "url": url,
            "title": title,
            "key": fingerprint_text(url),
            "breadcrumbs": tuple(place.split("/")),
            "snippet": ((before, False), (" of ", True), (after, False)),
            "day": 19_000 + 97 * number,
        }
        hits.append(msgspec.structs.replace(hit(number, query), **changes))
    return ResultPage(query, tuple(hits), 5_246, False, False, 0.0123, 1_204_331)
