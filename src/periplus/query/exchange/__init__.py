"""Plans and filters as records that travel between a broker and shards."""
