"""The forms of words: their terms in each language of the index, and the other ways in which people write them."""

__all__ = ["feedback", "prose", "term_forms", "written_forms"]
