"""One job, from a data folder to a record of what was done: what most commands do."""
