"""Ways of ranking that are measured on one build of a collection, and what each leaves out.

`first` is the first stage alone (`rank.rerank` = 0), `full` the settings as they are without meaning, `meaning` the
same with it. `full-loco` and `meaning-loco` are these two by weights that were learned without the collection
(leave-one-collection-out). An ablation is `full` with one weight at 0, of the first stage or of a feature: what is lost
is what that weight is worth.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from periplus.errors import BadInput
from periplus.rank import feature_weights
from periplus.settings import RankSettings, Settings

__all__ = [
    "FIRST_STAGE",
    "FULL_LEFT_OUT",
    "FULL_PIPELINE",
    "WITH_EMBEDDINGS",
    "WITH_EMBEDDINGS_LEFT_OUT",
    "Variant",
    "ablations",
    "left_out_variants",
    "select_variants",
    "standard_variants",
]

FIRST_STAGE: Final = "first"
FULL_PIPELINE: Final = "full"
WITH_EMBEDDINGS: Final = "meaning"
FULL_LEFT_OUT: Final = "full-loco"
WITH_EMBEDDINGS_LEFT_OUT: Final = "meaning-loco"
_TITLES: Final = {FIRST_STAGE: "first stage", FULL_PIPELINE: "full", WITH_EMBEDDINGS: "full + meaning"}


class Variant(msgspec.Struct, frozen=True):
    """One way of ranking."""

    name: str
    title: str
    """As people read it."""
    settings: Settings
    changes: tuple[tuple[str, float], ...] = ()
    """Weights of features (docs/ranking.md) that it has otherwise."""
    base: str = ""
    """The name of the variant it is compared with; '' is the first one measured."""

    @property
    def meaning(self) -> bool:
        """Whether it needs vectors."""
        return self.name in (WITH_EMBEDDINGS, WITH_EMBEDDINGS_LEFT_OUT)


def standard_variants(settings: Settings) -> tuple[Variant, ...]:
    """Return the first stage alone, the full pipeline, and the full pipeline with embeddings."""
    plain = _with_embeddings(settings, False)
    rank = msgspec.structs.replace(settings.rank, rerank=0)
    return (
        Variant(FIRST_STAGE, _TITLES[FIRST_STAGE], msgspec.structs.replace(plain, rank=rank)),
        Variant(FULL_PIPELINE, _TITLES[FULL_PIPELINE], plain),
        Variant(WITH_EMBEDDINGS, _TITLES[WITH_EMBEDDINGS], _with_embeddings(settings, True)),
    )


def select_variants(settings: Settings, names: Sequence[str]) -> tuple[Variant, ...]:
    """Return the standard variants of these names; raise `BadInput` for an unknown name."""
    known = {variant.name: variant for variant in standard_variants(settings)}
    for name in names:
        if name not in known:
            raise BadInput(f"There is no variant '{name[:40]}'.", f"Choose from {', '.join(known)}.")
    return tuple(variant for name, variant in known.items() if name in names)


def left_out_variants(settings: Settings, weights: Path) -> tuple[Variant, ...]:
    """Return the full pipeline, without embeddings and with them, by the weights of a file."""
    learned = msgspec.structs.replace(settings, rank=msgspec.structs.replace(settings.rank, weights=str(weights)))
    return (
        Variant(FULL_LEFT_OUT, "full, left out", _with_embeddings(learned, False)),
        Variant(WITH_EMBEDDINGS_LEFT_OUT, "full + meaning, left out", _with_embeddings(learned, True)),
    )


def ablations(settings: Settings) -> tuple[Variant, ...]:
    """Return the full pipeline without each of its weights in turn: settings of the first stage, then features."""
    plain = _with_embeddings(settings, False)
    found = []
    for field in msgspec.structs.fields(RankSettings):
        value = getattr(settings.rank, field.name)
        if field.name != "rerank" and isinstance(value, float) and value:
            rank = msgspec.structs.replace(settings.rank, **{field.name: 0.0})
            without = msgspec.structs.replace(plain, rank=rank)
            found.append(Variant(f"-{field.name}", f"without {field.name}", without, base=FULL_PIPELINE))
    for name, feature in feature_weights(settings.rank.weights).items() if settings.rank.rerank else ():
        if name != "first" and feature.weight:
            found.append(Variant(f"-{name}", f"without {name}", plain, ((name, 0.0),), base=FULL_PIPELINE))
    return tuple(found)


def _with_embeddings(settings: Settings, on: bool) -> Settings:
    """Return the settings with or without the encoder; missing vectors are computed on demand."""
    embeddings = settings.embeddings
    embeddings = msgspec.structs.replace(
        embeddings,
        enabled=on,
        semantic="auto" if on else "off" if embeddings.semantic == "off" else "static",
        on_demand=on or embeddings.on_demand,
    )
    return msgspec.structs.replace(settings, embeddings=embeddings)
