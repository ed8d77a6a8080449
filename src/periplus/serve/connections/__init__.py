"""Connections of a server: how many there may be, how long they may do nothing, and which are closed first."""
