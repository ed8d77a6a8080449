"""One bounded, guarded GET: libcurl's multi interface behind three calls.

In: a `FetchRequest` (and extra request headers). Out: a `FetchResult`, whatever the peer does; a bad peer is an
`Outcome`, never an exception. Every connection is checked against the operator's allowed ranges at the moment it opens,
so neither a redirect nor DNS rebinding gets past. Redirects are reported, not followed; cookies of responses are not
stored. Headers and proxies that the operator sets for a host (`RequestOptions`) are used for its requests only.

    fetcher = Fetcher(settings, accepts=readable)
    fetcher.start(request)
    for result in fetcher.poll(0.1): ...
"""

from periplus.fetch.address_guard import AddressGuard, is_private_name, is_under
from periplus.fetch.fetcher import Fetcher
from periplus.fetch.hosts_file import HostsFile
from periplus.fetch.request_options import Archiving, RequestOptions

__all__ = ["AddressGuard", "Archiving", "Fetcher", "HostsFile", "RequestOptions", "is_private_name", "is_under"]
