"""Every other format to a `Page`: PDF, Office, EPUB, Markdown, XML, feeds, plain text, directory listings."""
