"""Documents that a crawl has parsed in other processes, and the journal of those that ended one."""
