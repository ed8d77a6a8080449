"""Which site crawls a host, and which one indexes a page.

- `GeographicPartitioner`: hosts to sites, by distance or round-trip times, with hysteresis; `HostLocator` finds where
  hosts are (`GeoDatabase`), `RoundTripTable` has what sites have measured.
- `MasterIndexer`: pages to sites, by what the people of each site ask and open. `read_interests` computes the
  statistics of a site from its signals, `encode_interests` and `decode_interests` exchange them.
"""
