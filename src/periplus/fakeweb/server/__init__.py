"""The fake web on loopback sockets."""
