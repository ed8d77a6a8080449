"""Text to vectors by a table of word pieces: a model without layers, which needs no other package.

In: UTF-8 text. Out: vectors. The vector of a text is the sum of the vectors of its
word pieces, which were distilled from a larger model. It takes microseconds, so every page gets one when it is indexed.

- `load_static_model` returns the table that lies in this package, a `StaticModel`.
- `StaticModel.embed_documents` embeds the pages of a batch, `StaticModel.encode_query` a query. Neither returns a
  vector for text that the table does not cover, such as text in another language.
- `write_model` and `read_model` are the file of a table; `training/embeddings/pack_static.py` writes it.

See docs/embeddings.md and docs/formats/embeddings.md.
"""

from periplus.static_embeddings.code_points import tabulate_code_points
from periplus.static_embeddings.kernels.passage_scores import score_documents
from periplus.static_embeddings.model_file import MODEL_PATH, ModelArrays, read_model, write_model
from periplus.static_embeddings.static_model import PassageRows, StaticModel, WordNumbers, load_static_model

__all__ = [
    "MODEL_PATH",
    "ModelArrays",
    "PassageRows",
    "StaticModel",
    "WordNumbers",
    "load_static_model",
    "read_model",
    "score_documents",
    "tabulate_code_points",
    "write_model",
]
