"""From candidates to hits: selection, stored fields, snippets, cards."""
