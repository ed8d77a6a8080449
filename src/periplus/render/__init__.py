"""What scripts make of a page: HTML to HTML in Chromium, which has no network of its own.

In: pages as they were fetched, and what they load, which the caller fetches as it fetches everything else.
Out: requests of pages for scripts and data, and the HTML of each page once nothing moves any more.

    PageRenderer      one Chromium and the pages that are open in it; never waits
    ResourceRequest   a script or data that a page asks for: answer it by `fulfil` or `refuse`
    RenderedPage      the HTML of a page, or what went wrong
    find_chromium     where Chromium is installed; raises `SettingsError` if it is not

Chromium runs in its own sandbox, never as root, and dies with the process that started it. It cannot resolve a name or
open a connection: everything a page asks for is paused and handed to the caller. Pages are bounded in time, in the
number of requests and, together, in memory.
"""

from periplus.render.chromium_process import find_chromium
from periplus.render.page_renderer import PageRenderer, RenderedPage, ResourceRequest

__all__ = ["PageRenderer", "RenderedPage", "ResourceRequest", "find_chromium"]
