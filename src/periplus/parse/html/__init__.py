"""HTML to a `Page`: structure, links, media, structured data and main content."""
