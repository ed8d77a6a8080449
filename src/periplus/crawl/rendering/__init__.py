"""Pages of chosen hosts that are rendered in Chromium before they are parsed, within the politeness of the crawl."""
