"""What the disk limit refuses before it begins, and what goes on nevertheless."""

import msgspec
import pytest

import periplus
from periplus import health
from periplus.app import examine_installation
from periplus.app.disk_estimates import merge_permission
from periplus.errors import StorageFull
from periplus.index import LiveIndex
from periplus.limits import DiskLimit, measure_folder
from periplus.settings import LimitSettings, Settings

FULL = LimitSettings(disk_gb=1e-6)
"""A limit that any data folder exceeds."""


@pytest.fixture
def folder(tmp_path):
    engine = periplus.open(tmp_path / "data")
    for number in range(3):
        engine.publish(f"Lighthouse {number}", "Light over the sea.", url=f"https://a.test/{number}")
    engine.build()
    return tmp_path / "data"


def reopened(folder, limits):
    return periplus.open(folder, Settings(limits=limits))


def test_at_the_limit_search_goes_on_and_nothing_is_published(folder):
    engine = reopened(folder, FULL)
    before = measure_folder(folder)
    with pytest.raises(StorageFull, match="The page needs about 1 MB, and there is room for 0 MB"):
        engine.publish("Another", "Light.", url="https://a.test/4")
    assert measure_folder(folder) == before
    assert engine.search("lighthouse").total == 3


def test_a_build_that_does_not_fit_is_refused_before_it_begins(folder):
    engine = reopened(folder, FULL)
    manifest = (folder / "index" / "manifest.json").read_bytes()
    with pytest.raises(StorageFull, match="Building the index needs about"):
        engine.build()
    assert (folder / "index" / "manifest.json").read_bytes() == manifest
    assert reopened(folder, LimitSettings(disk_gb=10)).build().documents == 3


def test_a_merge_that_does_not_fit_is_not_begun(folder):
    settings = msgspec.structs.replace(Settings().index)
    with LiveIndex(folder / "index", settings, background=False) as live:
        asked = []
        allowed = merge_permission(folder / "index", DiskLimit(folder, LimitSettings()))
        refused = merge_permission(folder / "index", DiskLimit(folder, FULL))
        live.may_merge = lambda names: bool(asked.append(names))
        assert live.merge() is False
        names = [path.name for path in (folder / "index").glob("seg-*")]
        assert names
        assert asked
        assert allowed(names)
        assert not refused(names)
        assert not allowed([])


def test_the_doctor_names_the_limits(folder):
    health._PARTS.clear()

    def finding(limits):
        settings = Settings(folder=str(folder), limits=limits)
        return next(row for row in examine_installation(settings) if row.name == "Limits")

    assert finding(LimitSettings()).state == "ok"
    rich = finding(LimitSettings(disk_gb=5, memory_mb=2_000, bandwidth_mbit=10))
    assert rich.state == "ok"
    assert "of 5 GB, 2,000 MB of memory, 10 Mbit/s" in rich.detail
    full = finding(FULL)
    assert full.state == "bad"
    assert "limits.disk_gb" in full.detail
