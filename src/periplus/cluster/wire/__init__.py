"""What processes of a cluster send each other: signatures, frames and the handshake.

- `signing` has the cluster's key, signatures of HTTP messages, and the guard against repeated messages.
- `handshake` and `message_frames` have the form of messages over sockets, `peer_connection` and `message_server` the
  two sides.

Replicas and brokers use sockets, which are twice as fast as HTTP here (docs/decisions/050); crawl shards use HTTP.
"""
