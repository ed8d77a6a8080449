"""Every format that Periplus writes and reads back, in one list."""

from formats import golden_crawl, golden_people, golden_search, golden_storage, golden_store

FORMATS = {
    made.name: made
    for made in (
        *golden_store.FORMATS,
        *golden_crawl.FORMATS,
        *golden_search.FORMATS,
        *golden_people.FORMATS,
        *golden_storage.FORMATS,
    )
}
