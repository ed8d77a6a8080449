"""A tiny model with random weights, and an encoder for it that needs no extra: the naive twin."""

import json
import struct

import numpy as np

from naive import encoder as naive
from periplus.embeddings.safetensors import read_model, read_safetensors

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS),
    "sea",
    "chart",
    "ship",
    "the",
    "of",
]
WIDTH, WIDE, LAYERS, LONGEST = 64, 128, 2, 96


def arrays(seed: int = 1) -> dict[str, np.ndarray]:
    """Return the arrays of a small encoder, by the names of published ones."""
    chance = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": chance.standard_normal((len(VOCABULARY), WIDTH)).astype(np.float32),
        "embeddings.position_embeddings.weight": some(LONGEST, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(LAYERS):
        at = f"encoder.layer.{number}."
        dense = [(f"attention.self.{part}", WIDTH, WIDTH) for part in ("query", "key", "value")]
        dense += [
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", WIDE, WIDTH),
            ("output.dense", WIDTH, WIDE),
        ]
        for name, out, inside in dense:
            made[f"{at}{name}.weight"], made[f"{at}{name}.bias"] = some(out, inside), some(out) / 4
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name in norms:
        made[f"{name}.weight"], made[f"{name}.bias"] = 1 + some(WIDTH), some(WIDTH) / 4
    return made


def safetensors(made: dict[str, np.ndarray]) -> bytes:
    """Return arrays as a safetensors file."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in made.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    raw = json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + b"".join(array.tobytes() for array in made.values())


def tokenizer() -> bytes:
    """Return a vocabulary of word pieces as the tokenizers library reads it."""
    vocabulary = {piece: number for number, piece in enumerate(VOCABULARY)}
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    }
    return json.dumps(
        {
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
            "padding": None,
            "added_tokens": [],
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": None,
            "decoder": None,
            "model": {**model, "vocab": vocabulary},
        }
    ).encode()


MODEL = read_model(read_safetensors(safetensors(arrays()), "made"), "made")


class NaiveEncoder:
    """`Encoder` by the naive twin; counts the passages that it encoded."""

    name, width = "made-0", WIDTH

    def __init__(self) -> None:
        self.encoded = 0

    def tokenize(self, texts):
        """Return texts as letters and the few words of the vocabulary."""
        return [[n for word in text.lower().split() for n in self._word(word)] for text in texts]

    def _word(self, word):
        if word in VOCABULARY[-5:]:
            return [VOCABULARY.index(word)]
        return [
            VOCABULARY.index(letter if at == 0 else f"##{letter}") if letter in LETTERS else 1
            for at, letter in enumerate(word)
        ]

    def encode_query(self, words):
        """Return the vector of a query."""
        return self.encode(self.tokenize([words]), 64)[0]

    def encode(self, texts, longest):
        """Return the vectors of texts."""
        self.encoded += len(texts)
        marked = [[2, *text[: longest - 2], 3] for text in texts]
        return np.array([naive.encode(MODEL, text) for text in marked], np.float32).reshape(len(texts), WIDTH)
