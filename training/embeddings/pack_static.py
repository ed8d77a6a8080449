"""Write the static model of the package from trained vectors and their vocabulary.

.venv/bin/python training/embeddings/pack_static.py TABLE.npz VOCABULARY.json CARD.json [OUT]

TABLE.npz         `table`, int8 (pieces, width), and `scale`, float32 (pieces): the row of a piece is its id
VOCABULARY.json   a tokenizer of the package `tokenizers`: WordPiece after NFKD, without accents, in lower case, split
                  at everything but letters and digits
CARD.json         what the table was trained from: sources of texts, teacher, seeds, figures
OUT               src/periplus/static_embeddings/english.arrays

Of the vectors, the first 192 components are packed: they are in the order of the principal components of the teacher,
and the signs of the others add nothing that could be measured (docs/decisions/135).

Pieces with characters other than ASCII letters and digits are left out: the table is for English, and a word of
another script says nothing by its letters.
"""

import json
import sys
from pathlib import Path

import numpy as np

from periplus.static_embeddings import MODEL_PATH, tabulate_code_points, write_model

MAX_BYTES = 8_000_000
WIDTH = 192
"""Components of a vector that are packed."""
UNKNOWN = "[UNK]"
NORMALIZER = ["NFKD", "StripAccents", "Lowercase"]
SPLIT = "[^\\p{L}\\p{N}]+"
REQUIRED = ("sources", "teacher", "seeds", "licence")
"""What a card has to say."""


def read_vocabulary(path: Path) -> dict[str, int]:
    """Return the row of each piece that is packed; exit if the tokenizer is not of the kind that the kernel equals."""
    tokenizer = json.loads(path.read_text("utf-8"))
    model = tokenizer["model"]
    steps = [step["type"] for step in tokenizer["normalizer"]["normalizers"]]
    split, digits = tokenizer["pre_tokenizer"]["pretokenizers"]
    known = (
        model["type"] == "WordPiece"
        and model["continuing_subword_prefix"] == "##"
        and model["max_input_chars_per_word"] == 40
        and steps == NORMALIZER
        and (split["type"], split["pattern"], split["behavior"]) == ("Split", {"Regex": SPLIT}, "Removed")
        and (digits["type"], digits["individual_digits"]) == ("Digits", False)
    )
    if not known:
        sys.exit(f"{path} is a tokenizer of another kind.")
    return {piece: row for piece, row in model["vocab"].items() if piece != UNKNOWN and is_packed(piece)}


def is_packed(piece: str) -> bool:
    """Return whether a piece consists of ASCII letters and digits."""
    letters = piece.removeprefix("##")
    return letters.isascii() and letters.isalnum()


def main() -> None:
    """Pack, check the size, print what was written."""
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    table, vocabulary, card = (Path(name) for name in sys.argv[1:4])
    out = Path(sys.argv[4]) if len(sys.argv) == 5 else MODEL_PATH
    arrays = np.load(table)
    pieces = read_vocabulary(vocabulary)
    notes = json.loads(card.read_text("utf-8"))
    if missing := [name for name in REQUIRED if name not in notes]:
        sys.exit(f"{card} does not give: {', '.join(missing)}.")
    vectors = np.ascontiguousarray(arrays["table"][:, :WIDTH])
    scales = arrays["scale"].astype(np.float32)
    model = write_model(out, pieces, vectors, scales, tabulate_code_points(), notes)
    size = out.stat().st_size
    if size > MAX_BYTES:
        out.unlink()
        sys.exit(f"{size:,} bytes are more than {MAX_BYTES:,}: train fewer pieces or narrower vectors.")
    print(f"{out}: {len(pieces):,} pieces of {model.table.vectors.shape[1]}, {size:,} bytes, {model.name}")


if __name__ == "__main__":
    main()
