"""Which hosts a crawl leaves alone, and why: limits of a host, and hosts that the operator has blocked."""
