"""Models of embeddings: published weights in, converted and checked files for the encoder out."""
