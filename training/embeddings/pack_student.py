"""Write the layers of granite-small into the package from trained tensors.

.venv/bin/python training/embeddings/pack_student.py TENSORS.npz CARD.json [OUT]

TENSORS.npz   tensors by the names of the teacher's: `l0.qkv.w`, `emb_ln.w`, `pos_emb` and so on, of the layers that are
              trained; word embeddings are the teacher's and are left out. `centre` is eight tenths of the mean of the
              teacher's vectors of 600 articles, each the 300th; without it, that of the present file is kept
CARD.json     what they were trained from: sources of texts, teacher, seeds, licence, figures
OUT           src/periplus/embeddings/models/granite_small.arrays

Converted models contain the layers: after a new file, `periplus embeddings fetch` converts the model again, and
`periplus index embed` computes new vectors.
"""

import json
import sys
from pathlib import Path

import numpy as np

from periplus.embeddings.models.published_models import PUBLISHED
from periplus.embeddings.models.student_file import CENTRE, STUDENT_PATH, read_student, write_student

REQUIRED = ("sources", "teacher", "seeds", "licence")
"""What a card has to say."""


def main() -> None:
    """Pack, read back, print what was written and what quantisation loses."""
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    out = Path(sys.argv[3]) if len(sys.argv) == 4 else STUDENT_PATH
    tensors = {name: np.asarray(tensor, np.float32) for name, tensor in np.load(sys.argv[1]).items()}
    card = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    if missing := [name for name in REQUIRED if name not in card]:
        sys.exit(f"{sys.argv[2]} does not give: {', '.join(missing)}.")
    if CENTRE not in tensors:
        tensors[CENTRE] = read_student().tensors[CENTRE]
    layers = sorted({int(name.split(".")[0][1:]) for name in tensors if name.split(".")[0][1:].isdigit()})
    size = write_student(out, tensors, layers, PUBLISHED["granite-small"].files[0].sha256, card)
    written = read_student(out).tensors
    losses = [np.linalg.norm(written[name] - tensor) / np.linalg.norm(tensor) for name, tensor in tensors.items()]
    print(f"{out}: layers {layers}, {size:,} bytes, quantisation changes a tensor by {max(losses):.1%} at most")


if __name__ == "__main__":
    main()
