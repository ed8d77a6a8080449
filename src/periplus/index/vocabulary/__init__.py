"""The vocabulary of a segment: surface forms for spelling correction, completions, names of sites, title keys."""
