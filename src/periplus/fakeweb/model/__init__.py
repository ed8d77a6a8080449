"""The fake web as data: sites, link structure, extra pages, the truth about them."""
