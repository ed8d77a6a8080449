"""Kernels over surface forms: packed vocabularies, spelling candidates, completions, names."""

__all__ = ["completion_table", "edit_cost", "name_scan", "name_words", "spelling_candidates", "surface_forms"]
