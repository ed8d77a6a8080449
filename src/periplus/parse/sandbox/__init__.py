"""Documents parsed in processes of their own, with limits of memory and time and without rights.

A parser in C that a hostile file takes over, or a file that is small and means gigabytes, harms one of these processes
and nothing else. `parser_pool` is the side of the crawl, `parser_server` the process that starts the others, and
`parser_worker` one that parses. `process_limits`, `system_call_filter` and `landlock` are what a worker gives up.
"""
