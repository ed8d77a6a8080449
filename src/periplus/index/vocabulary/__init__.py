"""Surface forms of words: spelling, completions, title keys."""
