"""What the pages of the fake web say: words, prose, markup, site files, misbehaving hosts."""
