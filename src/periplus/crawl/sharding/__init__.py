"""A crawl in several processes: topology, mailboxes, the supervisor, resharding."""
