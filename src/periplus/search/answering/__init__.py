"""Answers to queries: from words to a result page, over one index as over the shards of a cluster."""
