"""The fake web as data: sites, web graph, extra pages, ground truth."""
