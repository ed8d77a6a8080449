"""Lists of frequent word pairs: the documents in which one frequent word comes right after another.

A phrase of frequent words is in few of the documents that have all of its words, and to find these by positions means
to read the positions of most of them. `write_word_pairs` therefore lists, for the most frequent terms of a segment, the
documents of each pair, within a budget of bytes, and `PairSets` makes sets of documents of those that a query needs.
"""
