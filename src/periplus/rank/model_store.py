"""The models of a data folder: one file each, a card that says what it is, and which one is used.

models/
  20261115-140322.model    trees, checked (docs/ranking.md)
  20261115-140322.json     its card: what it was made from, how good it is
  20261115-140322.md       the same for people
  used.json                {"model": "20261115-140322"}; without it the weights rank alone
"""

import time
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput, CorruptFile
from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
from periplus.rank.ranking_model import FEATURES, FOLDER, USED, ModelSelection, used_model, write_model
from periplus.rank.training import ChangedResult, LeftOutSource, TrainingResult

__all__ = ["ModelCard", "list_models", "save_model", "select_model"]

_FORMAT: Final = 2
"""The number of what the file holds; it is raised whenever that changes. Files without one are of format 0.
Since 2, the file has a checksum."""
_MOST_NAMED: Final = 10
_REMEDY: Final = "Remove it, or learn again."


class ModelCard(msgspec.Struct, frozen=True):
    """What a model is and how good it is."""

    name: str
    made: float
    """Seconds since 1970."""
    sources: tuple[str, ...]
    queries: int
    before: float
    """nDCG@10 by the weights, on held-out queries."""
    after: float
    """nDCG@10 by the model, on the same."""
    low: float
    """The gain is at least this, with 95 % confidence."""
    p: float
    passed: bool
    trees: int
    importance: dict[str, float]
    features: tuple[str, ...] = FEATURES
    format: int = _FORMAT
    left_out: tuple[LeftOutSource, ...] = ()
    """How trees of the other sources rank each; none where there was one source."""
    examples: tuple[ChangedResult, ...] = ()
    """Queries whose first result the model changes."""


def save_model(folder: Path, learned: TrainingResult, sources: tuple[str, ...]) -> ModelCard:
    """Write the card of a model and, if it passed the gate, the model itself, which is used from then on."""
    place = folder / FOLDER
    with disk_errors(place):
        make_folder(place)
    now = time.time()
    card = ModelCard(
        _free_name(place, time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))),
        now,
        sources,
        learned.queries,
        learned.before,
        learned.after,
        learned.low,
        learned.p,
        learned.passed,
        len(learned.model.trees.root),
        learned.importance,
        left_out=learned.left_out,
        examples=learned.examples,
    )
    if learned.passed:
        write_model(place / f"{card.name}.model", learned.model)
    write_atomically(place / f"{card.name}.json", encode_json(card, indent=2))
    write_atomically(place / f"{card.name}.md", _describe(card).encode())
    if learned.passed:
        select_model(folder, card.name)
    return card


def _free_name(place: Path, name: str) -> str:
    number = 1
    free = name
    while (place / f"{free}.json").exists():
        number += 1
        free = f"{name}-{number}"
    return free


def list_models(folder: Path) -> tuple[list[ModelCard], str]:
    """Return the cards of all models, oldest first, and the name of the one in use ('' is none)."""
    cards = []
    for path in sorted((folder / FOLDER).glob("*.json")):
        if path.name != USED:
            try:
                cards.append(decode_json(path, path.read_bytes(), ModelCard, _FORMAT, _REMEDY, checksum_since=2))
            except OSError as error:
                raise CorruptFile(f"{path} cannot be read: {error.strerror}.") from None
    return cards, used_model(folder)


def select_model(folder: Path, name: str) -> None:
    """Use a model that passed from now on; '' is none: the weights alone."""
    known = {card.name for card in list_models(folder)[0] if card.passed}
    if name and name not in known:
        raise BadInput(f"There is no model '{name[:60]}' that passed.", "List them: periplus rank models.")
    write_atomically(folder / FOLDER / USED, encode_json(ModelSelection(name)))


def _describe(card: ModelCard) -> str:
    """Write a card for people."""
    best = sorted(card.importance.items(), key=lambda item: -item[1])[:_MOST_NAMED]
    worse = [source.source for source in card.left_out if source.worse]
    reason = f"It is worse on {', '.join(worse)}, left out" if worse else "It is not better by more than chance"
    verdict = "It passed and is used." if card.passed else f"{reason}, and was refused."
    lines = [
        f"# Ranking model {card.name}",
        "",
        f"Made from {card.queries:,} judged queries of {', '.join(card.sources)}.",
        f"{card.trees} trees over {len(card.features)} features correct the weights of the dynamic ranker.",
        "",
        f"nDCG@10 on held-out queries: {card.before:.4f} by the weights, {card.after:.4f} by the model",
        f"(gain at least {card.low:+.4f} with 95 % confidence; p = {card.p:.4f}). {verdict}",
        "",
        "| feature | share of what the trees gained |",
        "|---|---|",
        *(f"| {name} | {share:.3f} |" for name, share in best if share > 0),
        "",
    ]
    if card.left_out:
        lines += ["| left out | queries | weights | trees of the others |", "|---|---|---|---|"]
        lines += [
            f"| {s.source} | {s.queries:,} | {s.before:.4f} | {f'{s.after:.4f}' if s.judged else 'too few to judge'} |"
            for s in card.left_out
        ]
        lines.append("")
    if card.examples:
        lines += ["| query | first result before | first result now | nDCG@10 |", "|---|---|---|---|"]
        lines += [
            f"| {change.query} | {change.before} | {change.after} | {change.gain:+.3f} |" for change in card.examples
        ]
        lines.append("")
    return "\n".join(lines)
