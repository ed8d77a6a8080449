"""What is worth fetching: URL filters, crawler traps, near-duplicates, forms."""
