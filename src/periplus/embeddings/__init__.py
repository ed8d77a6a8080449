"""What does a text mean: text to vectors, vectors to the nearest passages.

In: an index, and words. Out: for each document how near it is in meaning to the words, and the nearest documents.

`fetch_model` brings a small language model and converts it once; `embed_index` gives vectors to documents, in the
background and resumably; `Meaning` answers for one generation of an index. All of it is optional: without the extra
'semantic', without a model or without vectors `Meaning.vector` gives None, and says why in `problem`.
Vectors are kept beside the segments, in `index/meaning`; `check_vectors` verifies them. See docs/embeddings.md.
"""

from periplus.embeddings.embedder import EmbedCount, embed_index
from periplus.embeddings.embedding_status import Status, meaning_status
from periplus.embeddings.encoder import Encoder, open_encoder
from periplus.embeddings.model_files import ModelFiles, fetch_model, find_model, make_model, missing_parts
from periplus.embeddings.nearest import Coverage, Meaning, Near, covered
from periplus.embeddings.vector_check import check_vectors, drop_damaged

__all__ = [
    "Coverage",
    "EmbedCount",
    "Encoder",
    "Meaning",
    "ModelFiles",
    "Near",
    "Status",
    "check_vectors",
    "covered",
    "drop_damaged",
    "embed_index",
    "fetch_model",
    "find_model",
    "make_model",
    "meaning_status",
    "missing_parts",
    "open_encoder",
]
