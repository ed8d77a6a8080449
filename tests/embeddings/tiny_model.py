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


POSITION_OFFSET, GROUP = 2, 16
BYTE_WORDS = ("the", "of", "sea", "ship", "chart")


def pack_tensors(seed: int = 1) -> dict[str, np.ndarray]:
    """Return the tensors of a small encoder, by the names of a published pack."""
    chance = np.random.default_rng(seed)

    def some(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    made = {
        "word_emb": chance.standard_normal((len(byte_vocabulary()), WIDTH)).astype(np.float32),
        "pos_emb": some(LONGEST + POSITION_OFFSET, WIDTH),
        "type_emb": some(2, WIDTH),
    }
    norms = ["emb_ln"]
    for number in range(LAYERS + 1):
        for name, out, inside in (
            ("qkv", 3 * WIDTH, WIDTH),
            ("ao", WIDTH, WIDTH),
            ("f1", WIDE, WIDTH),
            ("f2", WIDTH, WIDE),
        ):
            made[f"l{number}.{name}.w"], made[f"l{number}.{name}.b"] = some(out, inside), some(out) / 4
        norms += [f"l{number}.aln", f"l{number}.fln"]
    for name in norms:
        made[f"{name}.w"], made[f"{name}.b"] = 1 + some(WIDTH), some(WIDTH) / 4
    return made


def pack(tensors: dict[str, np.ndarray]) -> bytes:
    """Return tensors as a published pack: matrices as bytes, in groups of a scale each."""
    entries, parts = [], []
    for name, tensor in tensors.items():
        quantised = tensor.ndim == 2 and name not in ("pos_emb", "type_emb")
        raw = tensor.tobytes()
        if quantised:
            groups = tensor.reshape(len(tensor), -1, GROUP)
            scale = (np.abs(groups).max(axis=2, keepdims=True) / 127).astype(np.float32)
            raw = np.rint(groups / scale).astype(np.int8).tobytes() + scale.tobytes()
        kind = {"dtype": "i8", "group": GROUP} if quantised else {"dtype": "f32", "group": 0}
        entries.append({"name": name, "shape": list(tensor.shape), "len": len(raw), **kind})
        parts.append(raw)
    vocabulary = byte_tokenizer()
    arch = {"layers": LAYERS + 1, "heads": 2, "position_offset": POSITION_OFFSET, "hidden": WIDTH}
    header = json.dumps({"format": 1, "arch": arch, "tokenizer_len": len(vocabulary), "tensors": entries}).encode()
    return b"HMSEMB01" + struct.pack("<Q", len(header)) + header + vocabulary + b"".join(parts)


def byte_vocabulary() -> dict[str, int]:
    """Return the pieces of a vocabulary of bytes: letters, a mark for spaces, and a few words after one."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "\u0120", ",", *LETTERS]
    for word in BYTE_WORDS:
        pieces += [f"\u0120{word[:end]}" for end in range(1, len(word) + 1)]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def byte_tokenizer() -> bytes:
    """Return a vocabulary of bytes as the tokenizers library reads it."""
    merges = [[f"\u0120{word[:end]}", word[end]] for word in BYTE_WORDS for end in range(len(word))]
    unique = list(dict.fromkeys(map(" ".join, merges)))
    model = {"type": "BPE", "unk_token": "<unk>", "vocab": byte_vocabulary(), "merges": unique}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
            "post_processor": None,
            "decoder": None,
            "model": model,
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
