"""While a server starts, garbage is collected seldom; afterwards as before, whatever happened."""

import gc

import pytest

from periplus.app.serving.folder_server import _rare_collections


def test_collections_are_rare_until_the_server_is_open() -> None:
    thresholds = gc.get_threshold()
    try:
        with _rare_collections():
            assert gc.get_threshold()[0] > 100 * thresholds[0]
        assert gc.get_threshold() == thresholds
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_collections_are_as_before_if_it_cannot_be_opened() -> None:
    thresholds, frozen = gc.get_threshold(), gc.get_freeze_count()
    with pytest.raises(OSError, match="no such index"), _rare_collections():
        raise OSError("no such index")
    assert (gc.get_threshold(), gc.get_freeze_count()) == (thresholds, frozen)
