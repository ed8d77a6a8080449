"""What is gathered from all shards besides candidates: facets, orders by own fields, passages, traces."""
