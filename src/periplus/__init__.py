"""Periplus: a complete web search engine. Each package below this one is a room; see ARCHITECTURE.md."""

__version__ = "0.1.0"
