"""A program that embeds an index slowly, to be killed.

    python slow_embedder.py INDEX

It prints a line for each block that is on disk.
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import tiny_model

from periplus.embeddings import embed_index, embedder
from periplus.settings import EmbeddingSettings


class SlowEncoder(tiny_model.NaiveEncoder):
    """An encoder slow enough to be killed in the middle of a run."""

    def encode(self, texts, longest):
        """Return the vectors of texts."""
        time.sleep(0.01)
        return super().encode(texts, longest)


if __name__ == "__main__":
    embedder._CHUNK = 4
    report = lambda stage, done, total: print(done, flush=True)  # noqa: E731
    embed_index(Path(sys.argv[1]), EmbeddingSettings(passage_tokens=16, overlap=4), report, SlowEncoder())
    print("done", flush=True)
