"""URLs: parsed as browsers do, brought to one canonical form, attributed to a registered domain.

In: any string, typed by a person or found in a page, however hostile.
Out: an `Address` (canonical URL and its components, registered domain, fingerprint), or `BadUrl`.

    parse_address       a string, and the URL of the page it was found in, to an Address
    registered_domain   'www.example.co.uk' to 'example.co.uk'
    make_breadcrumbs    a URL as people read it: host, then decoded path parts
    parse_url           the plain WHATWG components, or None

The canonical form is the WHATWG serialisation without fragment and credentials, with unreserved characters
decoded, escapes in upper case, and parameters that only track or name a session left out. It is idempotent.
"""

from periplus.url.breadcrumbs import make_breadcrumbs
from periplus.url.canonical import parse_address
from periplus.url.domains import registered_domain
from periplus.url.whatwg import UrlParts, parse_url

__all__ = ["UrlParts", "make_breadcrumbs", "parse_address", "parse_url", "registered_domain"]
