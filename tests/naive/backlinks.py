"""Who links where, the obvious way: look at every link of every page."""

from periplus.errors import BadUrl
from periplus.url import parse_address


def all_links(records):
    """Return each link not marked nofollow as a pair of the page's URL and the target's address."""
    return [(record.url, address) for record in records for address in _addresses(record)]


def _addresses(record):
    for link in () if record.page.nofollow else record.page.links:
        try:
            address = parse_address(link.url)
        except BadUrl:
            continue
        if not link.nofollow and address.key != record.key:
            yield address


def linking_to_url(links, url, leads):
    """Return the pages that link to `url`, or to a URL that leads there by `leads`."""
    return {page for page, target in links if target.url == url or (leads.get(target.url) == url and page != url)}


def linking_to_host(links, host):
    """Return the pages that link to anything on a host or below it."""
    return {page for page, target in links if target.host == host or target.host.endswith("." + host)}
