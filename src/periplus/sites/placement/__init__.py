"""Which site crawls a host, and which one indexes a page."""
