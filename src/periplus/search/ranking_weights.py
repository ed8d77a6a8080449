"""The weights of ranking: what they are, and others to try without saving them.

Settings that are numbers go by their own name; weights of features (docs/ranking.md) are called `dynamic.title` etc.
"""

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from periplus.errors import BadInput
from periplus.rank import feature_weights
from periplus.settings import RankSettings, table
from periplus.typed_decoding import convert_to

__all__ = ["RankingWeight", "WeightChanges", "change_weights", "list_weights"]

_FEATURE: Final = "dynamic."


class RankingWeight(msgspec.Struct, frozen=True):
    """One weight, as it is set."""

    name: str
    value: float
    help: str


class WeightChanges(NamedTuple):
    """Settings of ranking with some weights changed."""

    settings: RankSettings
    features: dict[str, float]
    """Weights of features by name."""


def list_weights(settings: RankSettings) -> tuple[RankingWeight, ...]:
    """Return all weights: settings that are numbers, then those of features."""
    helps = {row.name.removeprefix("rank."): row.help for row in table() if row.name.startswith("rank.")}
    values = msgspec.structs.asdict(settings)
    features = feature_weights(settings.weights).items()
    return (
        *(RankingWeight(name, value, helps[name]) for name, value in values.items() if _is_number(value)),
        *(
            RankingWeight(_FEATURE + name, feature.weight, feature.about)
            for name, feature in features
            if name != "first"
        ),
        *(
            RankingWeight(f"{_FEATURE}{name}.long", feature.weight_of_long, f"{feature.about}; for long queries")
            for name, feature in features
            if feature.weight_of_long != feature.weight
        ),
    )


def change_weights(settings: RankSettings, changes: Mapping[str, float]) -> WeightChanges:
    """Return settings and features with some weights changed; raise `BadInput` for values that cannot be."""
    values = msgspec.structs.asdict(settings)
    features: dict[str, float] = {}
    for name, value in changes.items():
        if not math.isfinite(value):
            raise BadInput(f"{name[:40]} is not a weight.")
        if name.startswith(_FEATURE):
            features[name.removeprefix(_FEATURE)] = value
        elif _is_number(values.get(name)):
            values[name] = int(value) if isinstance(values[name], int) and value == int(value) else value
        else:
            raise BadInput(f"{name[:40]} is not a weight.")
    feature_weights(settings.weights, features)
    try:
        return WeightChanges(convert_to(values, RankSettings), features)
    except msgspec.ValidationError as error:
        raise BadInput(f"That weight is out of range: {error}.") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
