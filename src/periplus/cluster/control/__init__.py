"""The control plane: which process runs on which node. The only part of the cluster that imports Ray.

- `placement` assigns units (crawl shards, replicas, brokers) to nodes; a pure function.
- `coordinator` compares what the topology wants with what runs, and starts and stops units; it knows no Ray.
- `topology_store` has the topology in storage: whoever replaces the last version is the coordinator.
- `ray_host` starts, probes and stops units as Ray actors; `ray_runtime` imports Ray and joins a cluster.
- `local_nodes` starts a Ray cluster of several nodes on this machine.

A unit is a detached actor with a name ('crawl-03', 'replica-03-1', 'broker-00') that is bound to one node. When its
process dies, Ray starts it again there, with the files that are on the node's disk. When its node dies, Ray gives it
up, and the coordinator starts it on another node, where it restores its files from storage.
"""
