"""Who links where, the obvious way: look at every link of every page."""

from periplus.errors import BadUrl
from periplus.url import parse_address


def all_links(visits):
    """Give each link that its page wants followed as a pair: the page's URL and where it leads; not those to itself."""
    return [(visit.url, found) for visit in visits for found in _addresses(visit)]


def _addresses(visit):
    for link in () if visit.page.nofollow else visit.page.links:
        try:
            found = parse_address(link.url)
        except BadUrl:
            continue
        if not link.nofollow and found.key != visit.key:
            yield found


def linking_to_url(links, url, leads):
    """Give the pages that link to `url`, or to what leads there; `leads` gives for URLs the one they stand for."""
    return {page for page, target in links if target.url == url or (leads.get(target.url) == url and page != url)}


def linking_to_host(links, host):
    """Give the pages that link to anything on a host or below it."""
    return {page for page, target in links if target.host == host or target.host.endswith("." + host)}
