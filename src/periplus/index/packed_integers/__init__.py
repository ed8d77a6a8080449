"""Columns of integers in as few bits as their blocks of 64 need: packed in files, unpacked in memory."""
