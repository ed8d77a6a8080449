"""What one occurrence is worth in each field, by the lengths of a collection."""

import numpy as np
import numpy.typing as npt

from periplus.index.builder.field_scaling import scale_fields
from periplus.index.document_fields import Field
from periplus.settings import IndexSettings

SETTINGS = IndexSettings()


def lengths(documents: int, *, title: int = 5, url: int = 6, body: int = 100) -> npt.NDArray[np.int32]:
    table = np.zeros((documents, len(Field)), np.int32)
    table[:, Field.TITLE], table[:, Field.URL], table[:, Field.BODY] = title, url, body
    return table


def title_share(table: npt.NDArray[np.int32]) -> float:
    """Return what an occurrence in the title is worth, in occurrences in the body."""
    scale = scale_fields(table, SETTINGS)
    return float(scale[0, Field.TITLE] / scale[0, Field.BODY])


def test_a_title_is_worth_more_beside_long_bodies_than_beside_short_ones() -> None:
    shares = [title_share(lengths(5_000, body=words)) for words in (20, 60, 180)]
    assert shares == sorted(shares)
    assert shares[2] > 2 * shares[0]


def test_repeated_words_count_longer_where_bodies_are_long() -> None:
    short, long = (scale_fields(lengths(5_000, body=words), SETTINGS)[0, Field.BODY] for words in (20, 180))
    assert long < short


def test_lengths_beyond_the_bounds_change_nothing_further() -> None:
    ratios = [title_share(lengths(5_000, title=2, body=words)) for words in (200, 100_000)]
    assert np.isclose(*ratios)
    bodies = [scale_fields(lengths(5_000, body=words), SETTINGS)[0, Field.BODY] for words in (256, 100_000)]
    assert bodies[0] == bodies[1]


def test_a_few_documents_say_little_of_the_collection() -> None:
    few, many = (title_share(lengths(documents, body=20)) for documents in (1, 5_000))
    assert few > many
    assert abs(few / SETTINGS.title_weight - 1) < 0.05


def test_documents_without_a_field_do_not_make_it_shorter() -> None:
    table = lengths(1_000)
    table[500:, Field.TITLE] = 0
    norm = 1 - SETTINGS.field_b + SETTINGS.field_b * 2
    # Twice the mean length, which is over all documents; but the weight is that of titles of five words.
    assert np.isclose(title_share(table), title_share(lengths(1_000)) / norm)


def test_exponents_of_zero_leave_the_weights_as_they_are_set() -> None:
    plain = IndexSettings(field_length_exponent=0.0, k1_length_exponent=0.0)
    scale = scale_fields(lengths(1_000), plain)
    assert np.allclose(scale[0, [Field.TITLE, Field.URL, Field.BODY]], [plain.title_weight, plain.url_weight, 1.0])


def test_segments_without_documents_or_without_bodies() -> None:
    assert scale_fields(np.zeros((0, len(Field)), np.int32), SETTINGS).shape == (0, len(Field))
    assert np.isfinite(scale_fields(lengths(3, body=0), SETTINGS)).all()
    assert np.isfinite(scale_fields(np.zeros((3, len(Field)), np.int32), SETTINGS)).all()
