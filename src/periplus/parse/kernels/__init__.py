"""Kernels that scan HTML in one pass."""

__all__ = [
    "html",
    "html_columns",
    "html_elements",
    "html_end_tags",
    "html_entities",
    "html_extras",
    "html_links",
    "html_rows",
    "html_start_tags",
    "html_state",
    "html_tables",
    "html_tags",
    "html_text",
    "html_tokenizer",
    "html_tree",
]
