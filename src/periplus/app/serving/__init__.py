"""Long-running: serve a data folder, with or without a crawl and a live index beside the server."""
