"""Train the word pieces of the static model.

    python training/embeddings/train_vocabulary.py TEXTS.xz VOCABULARY.json

`pack_static.py` accepts this kind of tokenizer only: the kernel of the package equals it.
"""

import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from training_texts import read_texts

PIECES = 30_700
"""As many as make a table of 256 bytes each, and their spelling, less than 8 MB."""


def main() -> None:
    """Train and save the tokenizer."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))  # noqa: S106 - no password
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"[^\p{L}\p{N}]+"), "removed"), pre_tokenizers.Digits(False)]
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=PIECES, min_frequency=3, limit_alphabet=400, special_tokens=["[UNK]"], show_progress=False
    )
    texts = read_texts(Path(sys.argv[1]))
    tokenizer.train_from_iterator((f"{title} {passage}" for title, passage in texts), trainer)
    tokenizer.save(sys.argv[2])
    print(f"{sys.argv[2]}: {tokenizer.get_vocab_size():,} pieces")


if __name__ == "__main__":
    main()
