"""Several segments to one."""
