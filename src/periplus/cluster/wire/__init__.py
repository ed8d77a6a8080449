"""What processes of a cluster send each other: signatures, frames and the handshake.

`signing` has the cluster's key, signatures of HTTP messages and of frames, and the guard against repeated messages.
"""
