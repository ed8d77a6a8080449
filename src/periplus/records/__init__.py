"""The records that packages exchange: the shared data model of Periplus.

Address       a URL in canonical form, split into its parts
FetchRequest  an address to fetch, with its place in the crawl
FetchResult   the response to one request, or why there is none
Link          one reference from a page, with its text
Media         one image, sound or video of a page, with the text that describes it
Page          what was parsed from the body of a response
Form          one form of a page that a crawl may submit
PageFlag      a warning about a page, such as adult content or hidden text
FetchRecord   one fetch with its outcome and its page: what the store contains and the index reads
VisitReport   a visit that was reported by a browser, a proxy or a similar source
Query         the query of a user, with its filters
SearchLimits  what the answer to one query may cost
Candidates    matching documents, best first, as arrays
Hit           one result as it is displayed
Card          the facts that the best result states about itself, if the query names it
ResultPage    the complete answer to a query
"""

from periplus.records.crawl_records import (
    LIST_KIND,
    SNIPPET_LIMITS,
    Address,
    FetchRecord,
    FetchRequest,
    FetchResult,
    Form,
    Link,
    Media,
    Outcome,
    Page,
    PageFlag,
    VisitReport,
)
from periplus.records.search_records import (
    Candidates,
    Card,
    Hit,
    Query,
    ResultPage,
    SearchLimits,
)

__all__ = [
    "LIST_KIND",
    "SNIPPET_LIMITS",
    "Address",
    "Candidates",
    "Card",
    "FetchRecord",
    "FetchRequest",
    "FetchResult",
    "Form",
    "Hit",
    "Link",
    "Media",
    "Outcome",
    "Page",
    "PageFlag",
    "Query",
    "ResultPage",
    "SearchLimits",
    "VisitReport",
]
