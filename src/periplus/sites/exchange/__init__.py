"""What a site exchanges with others: the URLs of its crawl, the pages that others index, and the shards of queries.

- `SiteShard` is the crawl's view of the federation: links to hosts of other sites go to the outbox, links that other
  sites have sent come from files that `ReceivedUrls` has written.
- `PageDistributor` decides for every fetched page which site indexes it, and sends it there; `ReceivedPages` stores
  what comes.
- `SubmissionRouter` sends what people publish to the site that indexes it; `ReceivedSubmissions` publishes it there.
- `CollectionExchange` agrees on the collection statistics that all sites build with.
- `TransportSites` asks the shards of other sites; `serve_shard` answers them.
- `TransportSource` fetches documents to copy, and bounds that leave copies out; `serve_documents` sends them.
"""
