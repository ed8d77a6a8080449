"""Messages between sites: requests with one answer, batches that survive partitions, and who is alive.

`transport` has the protocol that all others use, and its implementation within one process. What imports `nats` is in
this sub-package only, and is imported when it is first used.
"""
