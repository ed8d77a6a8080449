"""The teacher: granite-embedding-30m-english from its published pack, on a GPU.

The pack is an 8-byte magic, the length of a JSON header (u64), the header, `tokenizer.json`, then the tensors: float32,
or int8 rows followed by a float32 scale for each group of columns.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from tokenizers import Tokenizer

WIDTH = 384
HEADS = 12
LAYERS = (0, 1, 2, 3, 4, 5)
PADDING = 1
DEVICE = "cuda"
BATCH_TOKENS = 400_000

Tensors = Mapping[str, torch.Tensor]


def read_pack(path: Path) -> tuple[Tokenizer, dict[str, torch.Tensor]]:
    """Return the tokenizer and the tensors, dequantised, on the GPU."""
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data, 8)[0]
    header = json.loads(data[16 : 16 + size])
    at = 16 + size
    tokenizer = Tokenizer.from_str(data[at : at + header["tokenizer_len"]].decode())
    at += header["tokenizer_len"]
    tensors = {}
    for entry in header["tensors"]:
        raw = data[at : at + entry["len"]]
        at += entry["len"]
        tensors[entry["name"]] = torch.tensor(_values(raw, entry), device=DEVICE)
    return tokenizer, tensors


def _values(raw: bytes, entry: Mapping[str, object]) -> np.ndarray:
    shape = entry["shape"]
    if entry["dtype"] == "f32":
        return np.frombuffer(raw, "<f4").reshape(shape).copy()
    rows, columns = shape
    group = entry["group"]
    bytes_ = np.frombuffer(raw[: rows * columns], "i1").reshape(rows, columns // group, group)
    scales = np.frombuffer(raw[rows * columns :], "<f4").reshape(rows, columns // group, 1)
    return (bytes_.astype("f4") * scales).reshape(rows, columns)


def forward(
    words: Tensors, trained: Tensors, layers: Sequence[int], ids: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return unit vectors of sequences: that of the first position after the last layer.

    words: has `word_emb` and `type_emb`; trained: the other tensors; ids, mask: sequences and where they are not
    padding.
    """
    count, length = ids.shape
    positions = torch.arange(length, device=DEVICE) + PADDING + 1
    x = words["word_emb"][ids] + trained["pos_emb"][positions] + words["type_emb"][0]
    x = F.layer_norm(x, (WIDTH,), trained["emb_ln.w"], trained["emb_ln.b"], 1e-12)
    for layer in layers:
        tensors = {name: trained[f"l{layer}.{name}"] for name in _NAMES}
        joined = F.linear(x, tensors["qkv.w"], tensors["qkv.b"]).view(count, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        mixed = mixed.permute(0, 2, 1, 3).reshape(count, length, WIDTH)
        x = x + F.linear(mixed, tensors["ao.w"], tensors["ao.b"])
        x = F.layer_norm(x, (WIDTH,), tensors["aln.w"], tensors["aln.b"], 1e-12)
        inner = F.gelu(F.linear(x, tensors["f1.w"], tensors["f1.b"]))
        x = x + F.linear(inner, tensors["f2.w"], tensors["f2.b"])
        x = F.layer_norm(x, (WIDTH,), tensors["fln.w"], tensors["fln.b"], 1e-12)
    return F.normalize(x[:, 0].float(), dim=1)


_NAMES = (
    *("qkv.w", "qkv.b", "ao.w", "ao.b", "aln.w", "aln.b"),
    *("f1.w", "f1.b", "f2.w", "f2.b", "fln.w", "fln.b"),
)


def tokenise(tokenizer: Tokenizer, texts: Sequence[str], longest: int) -> list[np.ndarray]:
    """Return the ids of texts, special tokens included, cut to a length."""
    tokenizer.enable_truncation(longest)
    tokenizer.no_padding()
    return [np.array(encoding.ids, np.int64) for encoding in tokenizer.encode_batch(texts)]


def pad(sequences: Sequence[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return sequences of ids as one tensor, and its mask."""
    length = max(map(len, sequences))
    ids = np.full((len(sequences), length), PADDING, np.int64)
    mask = np.zeros((len(sequences), length), bool)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = True
    return torch.tensor(ids, device=DEVICE), torch.tensor(mask, device=DEVICE)


def make_teacher(tokenizer: Tokenizer, tensors: Tensors) -> Callable[[Sequence[str], int], torch.Tensor]:
    """Return a function that encodes texts, cut to a number of tokens, to unit vectors in half precision."""
    halves = {name: tensor.to(torch.bfloat16) for name, tensor in tensors.items()}

    @torch.no_grad()
    def encode(texts: Sequence[str], longest: int) -> torch.Tensor:
        sequences = tokenise(tokenizer, texts, longest)
        order = sorted(range(len(sequences)), key=lambda number: len(sequences[number]))
        vectors = torch.empty(len(sequences), WIDTH, device=DEVICE, dtype=torch.float16)
        start = 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end - start + 1) * len(sequences[order[end]]) <= BATCH_TOKENS:
                end += 1
            batch = order[start:end]
            ids, mask = pad([sequences[number] for number in batch])
            vectors[torch.tensor(batch, device=DEVICE)] = forward(halves, halves, LAYERS, ids, mask).half()
            start = end
        return vectors

    return encode
