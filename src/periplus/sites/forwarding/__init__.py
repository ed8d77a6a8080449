"""Which sites a query is sent to, how their answers are merged, and what is replicated because it is often asked."""
