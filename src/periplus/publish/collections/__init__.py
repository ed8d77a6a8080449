"""Named collections of documents beside the main index: the catalog of them, and the thread that indexes them."""
