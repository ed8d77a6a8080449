"""Named collections of documents and their aliases over HTTP, and the keys that may read and write them."""
