"""Train the table of the static model: one row for each word piece, summed to the vector of a text.

    python training/embeddings/train_static.py TEXTS.xz TEACHER VOCABULARY.json OUT.npz [--steps 5000]

A minute on a GPU. OUT.npz has `table` (int8) and `scale` (float32) for pack_static.py.
"""

import argparse
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from teacher_model import DEVICE, make_teacher, read_pack
from tokenizers import Tokenizer
from training_texts import make_training_texts

SEED = 1
WIDTH = 256
BATCH = 8_192
RATE = 0.003
TEACHER_TEMPERATURE, TEMPERATURE = 0.03, 0.06
OWN_PASSAGE = 0.3
"""Share of the target that is the passage a short text comes from; the rest is as the teacher sees it."""
COSINES = 2.0
"""Weight of the cosine to the teacher, against the cross-entropy."""
DROPPED = 0.1
"""Share of the pieces of a passage that are left out."""
COMMON_DIRECTION = 0.8
"""Share of the teacher's mean vector that is subtracted: its vectors lie in a narrow cone."""
RARITY = 1e-3
CONTINUATION = 0.6
"""First weight of a piece within a word."""


class Bags(NamedTuple):
    """The pieces of texts, one after the other, and where each text begins."""

    pieces: torch.Tensor
    starts: torch.Tensor

    def select(self, texts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pieces of some texts, and where each begins."""
        begins = self.starts[texts]
        counts = self.starts[texts + 1] - begins
        ends = counts.cumsum(0)
        total = int(ends[-1])
        shifts = torch.repeat_interleave(begins - (ends - counts), counts, output_size=total)
        pieces = self.pieces[torch.arange(total, device=DEVICE) + shifts].long()
        return pieces, torch.cat([torch.zeros(1, dtype=torch.int64, device=DEVICE), ends[:-1]])


def make_bags(tokenizer: Tokenizer, texts: list[str], longest: int) -> Bags:
    """Return the pieces of texts, the unknown one (0) left out."""
    ids = [[piece for piece in encoding.ids if piece][:longest] for encoding in tokenizer.encode_batch(texts)]
    starts = torch.zeros(len(ids) + 1, dtype=torch.int64)
    starts[1:] = torch.tensor([len(pieces) for pieces in ids]).cumsum(0)
    flat = torch.tensor([piece for pieces in ids for piece in pieces], dtype=torch.int32, device=DEVICE)
    return Bags(flat, starts.to(DEVICE))


def main() -> None:
    """Train and save the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=5_000)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    texts = make_training_texts(options.texts, SEED)
    encode = make_teacher(*read_pack(options.teacher))
    passages = encode(texts.passages, 160)
    queries = [encode(short, 40) for short in texts.queries]
    mean = passages.float().mean(0)

    def center(vectors: torch.Tensor) -> torch.Tensor:
        return F.normalize(vectors.float() - COMMON_DIRECTION * mean, dim=1)

    tokenizer = Tokenizer.from_file(str(options.vocabulary))
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    passage_bags = make_bags(tokenizer, texts.passages, 128)
    query_bags = [make_bags(tokenizer, short, 32) for short in texts.queries]
    sample = center(passages[::4])
    projection = torch.linalg.svd((sample.T @ sample).double())[0][:, :WIDTH].float()
    targets = F.normalize(center(passages) @ projection, dim=1)

    shares = torch.bincount(passage_bags.pieces.long(), minlength=len(pieces)).float()
    shares /= shares.sum()
    within = torch.tensor([CONTINUATION if piece.startswith("##") else 1.0 for piece in pieces], device=DEVICE)
    start = center(encode([piece.removeprefix("##") for piece in pieces], 16)) @ projection
    table = torch.nn.Parameter(start * (RARITY / (RARITY + shares) * within)[:, None])

    def embed(bags: Bags, numbers: torch.Tensor, dropped: float = 0.0) -> torch.Tensor:
        chosen, starts = bags.select(numbers)
        weights = (torch.rand(len(chosen), device=DEVICE) >= dropped).float() / (1 - dropped)
        return F.normalize(F.embedding_bag(chosen, table, starts, mode="sum", per_sample_weights=weights) + 1e-6, dim=1)

    optimiser = torch.optim.Adam([table], lr=RATE, betas=(0.9, 0.99))
    own = OWN_PASSAGE * torch.eye(BATCH, device=DEVICE)
    for step in range(options.steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, step / 100) * 0.5 * (1 + math.cos(math.pi * step / options.steps))
        numbers = torch.randint(len(texts.passages), (BATCH,), device=DEVICE)
        kind = step % len(queries)
        passage, query = embed(passage_bags, numbers, DROPPED), embed(query_bags[kind], numbers)
        with torch.no_grad():
            likeness = queries[kind][numbers].float() @ passages[numbers].float().T
            target = (1 - OWN_PASSAGE) * F.softmax(likeness / TEACHER_TEMPERATURE, 1) + own
            query_target = F.normalize(center(queries[kind][numbers]) @ projection, dim=1)
        entropy = -(target * F.log_softmax(query @ passage.T / TEMPERATURE, 1)).sum(1).mean()
        cosines = (passage * targets[numbers]).sum(1).mean() + (query * query_target).sum(1).mean()
        optimiser.zero_grad(set_to_none=True)
        (entropy + COSINES * (2 - cosines)).backward()
        optimiser.step()
        if step % 500 == 0:
            print(f"step {step:,}: cross-entropy {entropy.item():.3f}, cosine {cosines.item() / 2:.3f}", flush=True)

    rows = table.detach()
    scales = rows.abs().amax(1).clamp(min=1e-8) / 127
    quantised = (rows / scales[:, None]).round().clamp(-127, 127).to(torch.int8)
    np.savez_compressed(options.out, table=quantised.cpu().numpy(), scale=scales.cpu().numpy().astype(np.float32))


if __name__ == "__main__":
    main()
