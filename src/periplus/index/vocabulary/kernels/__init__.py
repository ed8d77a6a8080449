"""Kernels over surface forms: packed vocabularies, spelling candidates, completions, names."""

__all__ = [
    "alias_scan",
    "completion_table",
    "edit_cost",
    "name_scan",
    "name_words",
    "spelling_candidates",
    "surface_forms",
    "word_rows",
    "written_words",
]
