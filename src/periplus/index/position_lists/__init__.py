"""How positions are written: in bytes those of plain postings, by field and in as few bits as they need all others."""
