"""PageRank, trust and spam mass over the link graph."""
