"""The contents of the fake web: words, prose, markup, site files, misbehaving hosts."""
