"""What a crawl did and is about to do: its log, the queue of a host, the state of a URL."""
