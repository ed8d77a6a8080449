"""Verify every file of a data folder, and repair what the other files can restore."""
