"""The weights of ranking: what they are, and others to try without saving them."""

import math
from collections.abc import Mapping

import msgspec

from periplus.errors import BadInput
from periplus.settings import RankSettings, table

__all__ = ["Weight", "list_weights", "with_weights"]


class Weight(msgspec.Struct, frozen=True):
    """One weight, as it is set."""

    name: str
    value: float
    help: str


def list_weights(settings: RankSettings) -> tuple[Weight, ...]:
    """List all weights that are numbers."""
    helps = {row.name.removeprefix("rank."): row.help for row in table() if row.name.startswith("rank.")}
    values = msgspec.structs.asdict(settings)
    return tuple(
        Weight(name, value, helps[name])
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )


def with_weights(settings: RankSettings, changes: Mapping[str, float]) -> RankSettings:
    """Give the settings with some weights changed; raise `BadInput` for what cannot be."""
    values = msgspec.structs.asdict(settings)
    for name, value in changes.items():
        if name not in values or not math.isfinite(value):
            raise BadInput(f"{name[:40]} is no weight.")
        values[name] = int(value) if isinstance(values[name], int) and value == int(value) else value
    try:
        return msgspec.convert(values, RankSettings)
    except msgspec.ValidationError as error:
        raise BadInput(f"A weight cannot be that: {error}.") from None
