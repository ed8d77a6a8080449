"""Text to vectors, and vectors to the nearest passages.

In: an index, and the text of a query. Out: the similarity of documents to the query, and the nearest documents.

- `fetch_model` downloads a small language model and converts it once; `open_encoder` loads it as an `Encoder`.
- `embed_index` computes the vectors of documents, in the background and resumably.
- `EmbeddingSearcher` answers queries for one generation of an index.
- `embedding_status` and `vector_coverage` report what is there; `check_vectors` verifies it, and
  `remove_damaged_vectors` removes damaged files.

The package is optional: without the extra 'semantic', without a model or without vectors
`EmbeddingSearcher.encode_query` returns None, and `problem` gives the reason. Vectors are stored beside the segments,
in `index/meaning`. See docs/embeddings.md.
"""

from periplus.embeddings.embedder import EmbedStatistics, embed_index
from periplus.embeddings.embedding_searcher import EmbeddingSearcher, NearestDocuments, VectorCoverage, vector_coverage
from periplus.embeddings.embedding_status import EmbeddingStatus, embedding_status
from periplus.embeddings.encoder import Encoder, open_encoder
from periplus.embeddings.model_languages import is_query_supported
from periplus.embeddings.models.model_files import ModelFiles, convert_model, fetch_model, find_model, missing_packages
from periplus.embeddings.vector_check import check_vectors, remove_damaged_vectors

__all__ = [
    "EmbedStatistics",
    "EmbeddingSearcher",
    "EmbeddingStatus",
    "Encoder",
    "ModelFiles",
    "NearestDocuments",
    "VectorCoverage",
    "check_vectors",
    "convert_model",
    "embed_index",
    "embedding_status",
    "fetch_model",
    "find_model",
    "is_query_supported",
    "missing_packages",
    "open_encoder",
    "remove_damaged_vectors",
    "vector_coverage",
]
