"""`periplus cluster`: start, crawl, build, serve and resize a cluster, and the demo of it.

`cluster_commands` has what the commands do; `cluster_workers` and `build_worker` what runs in actors besides the
workers of `cluster`; `generation_build` builds an index on all shards; `broker_process` is the web server of a broker.
"""
