"""Train the student: three layers of the teacher, with its word embeddings.

    python training/embeddings/train_student.py TEXTS.xz TEACHER OUT.npz [--seconds 330]

OUT.npz has the trained tensors in half precision for pack_student.py.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - as everywhere
from teacher_model import DEVICE, forward, make_teacher, pad, read_pack, tokenise
from training_texts import make_training_texts

SEED = 1
LAYERS = (0, 3, 5)
BATCH = 1_024
RATE = 4e-4
TEMPERATURE = 0.03
OWN_PASSAGE = 0.2
COSINES = 10.0
"""Weight of the cosine to the teacher, against the cross-entropy."""
EMBEDDING_TENSORS = ("emb_ln.w", "emb_ln.b", "pos_emb")


def main() -> None:
    """Train and save the layers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=330.0)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    chance = np.random.default_rng(SEED)
    texts = make_training_texts(options.texts, SEED)
    tokenizer, tensors = read_pack(options.teacher)
    encode = make_teacher(tokenizer, tensors)
    passages = encode(texts.passages, 160)
    queries = [encode(short, 40) for short in texts.queries]
    passage_ids = tokenise(tokenizer, texts.passages, 140)
    query_ids = [tokenise(tokenizer, short, 32) for short in texts.queries]
    names = [*EMBEDDING_TENSORS, *(name for name in tensors if name.startswith(tuple(f"l{n}." for n in LAYERS)))]
    trained = {name: torch.nn.Parameter(tensors[name].clone()) for name in names}

    def embed(sequences: list[np.ndarray]) -> torch.Tensor:
        with torch.autocast(DEVICE, torch.bfloat16):
            return forward(tensors, trained, LAYERS, *pad(sequences))

    optimiser = torch.optim.AdamW(trained.values(), lr=RATE, weight_decay=0.01)
    own = OWN_PASSAGE * torch.eye(BATCH, device=DEVICE)
    began, step = time.monotonic(), 0
    while (progress := (time.monotonic() - began) / options.seconds) < 1:
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / 200) * 0.5 * (1 + math.cos(math.pi * progress))
        numbers = chance.integers(len(passage_ids), size=BATCH)
        rows, kind = torch.tensor(numbers, device=DEVICE), step % len(queries)
        passage, query = embed([passage_ids[n] for n in numbers]), embed([query_ids[kind][n] for n in numbers])
        passage_target, query_target = passages[rows].float(), queries[kind][rows].float()
        target = (1 - OWN_PASSAGE) * F.softmax(query_target @ passage_target.T / TEMPERATURE, 1) + own
        entropy = -(target * F.log_softmax(query @ passage.T / TEMPERATURE, 1)).sum(1).mean()
        cosines = (passage * passage_target).sum(1).mean() + (query * query_target).sum(1).mean()
        optimiser.zero_grad(set_to_none=True)
        (entropy + COSINES * (2 - cosines)).backward()
        optimiser.step()
        if step % 500 == 0:
            print(f"step {step:,}: cross-entropy {entropy.item():.3f}, cosine {cosines.item() / 2:.3f}", flush=True)
        step += 1
    print(f"{step:,} steps")
    np.savez(options.out, **{name: tensor.detach().half().cpu().numpy() for name, tensor in trained.items()})


if __name__ == "__main__":
    main()
