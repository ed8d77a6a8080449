"""Kernels over surface forms: packed vocabularies, spelling candidates, completions."""

__all__ = ["completion_table", "edit_cost", "spelling_candidates", "surface_forms"]
