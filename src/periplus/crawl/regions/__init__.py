"""Regions of hosts, and what their pages have brought: how a crawl recognizes traps by evidence and not by looks."""
