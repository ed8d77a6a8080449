"""Merges several segments into one."""
