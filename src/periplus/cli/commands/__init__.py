"""The commands, a file for each: arguments in, one call out, then printing."""
