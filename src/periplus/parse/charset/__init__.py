"""Bytes to text: the declared encoding, the prescan, and detection where nothing is declared."""
