"""`periplus site`: a data folder as a site of a federation: made, joined, run and left."""
