"""Compiled kernels are loaded only from folders that nobody else can write to."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import periplus
from periplus.accel.compile_cache import prepare_folder
from periplus.accel.private_folder import is_private, make_private

STRANGER = 54_321
"""A user that owns nothing here."""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "cache" / "kernels"
    assert make_private(path)
    return path


def owned_by_stranger(path):
    """Return an `lstat` that reports another owner for one path."""

    def lstat(entry):
        status = os.lstat(entry)
        if Path(entry) != path:
            return status
        return os.stat_result((*status[:4], STRANGER, *status[5:10]))

    return lstat


def test_a_new_folder_is_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        assert make_private(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o702])
def test_a_folder_that_others_can_write_to_is_not_private(folder, mode):
    assert is_private(folder)
    folder.chmod(mode)
    assert not is_private(folder)
    assert prepare_folder(folder, "numba") is None


def test_a_folder_below_one_that_others_can_write_to_is_not_private(folder):
    folder.parent.chmod(0o777)
    assert not is_private(folder)
    folder.parent.chmod(0o1777)
    assert is_private(folder)  # as in /tmp, they cannot replace what is not theirs


def test_a_group_with_members_counts_as_others(folder):
    os.chmod(folder, 0o770)
    lstat = os.lstat

    def in_group(entry):
        status = lstat(entry)
        return os.stat_result((*status[:5], STRANGER, *status[6:10])) if Path(entry) == folder else status

    assert not is_private(folder, lstat=in_group)


def test_an_entry_that_others_can_write_to_spoils_the_folder(folder):
    (folder / "module").mkdir()
    assert is_private(folder)
    (folder / "module").chmod(0o777)
    assert not is_private(folder)
    (folder / "module").chmod(0o700)
    (folder / "link").symlink_to("/tmp")
    assert not is_private(folder)


@pytest.mark.parametrize("level", [0, 1])
def test_a_folder_of_another_user_is_not_private(folder, level):
    stranger = [folder, folder.parent][level]
    assert not is_private(folder, lstat=owned_by_stranger(stranger))


def test_an_entry_of_another_user_spoils_the_folder(folder):
    (folder / "code.nbc").write_bytes(b"evil")
    assert is_private(folder)
    assert not is_private(folder, lstat=owned_by_stranger(folder / "code.nbc"))


def test_a_symbolic_link_is_not_private_and_one_above_must_be_ours(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert not is_private(tmp_path / "link")
    (tmp_path / "way").symlink_to(folder.parent)
    assert is_private(tmp_path / "way" / "kernels")
    assert not is_private(tmp_path / "way" / "kernels", lstat=owned_by_stranger(tmp_path / "way"))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert not is_private(tmp_path / "loop" / "kernels")


def test_a_missing_folder_is_not_private(tmp_path):
    assert not is_private(tmp_path / "missing")


PROBE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from periplus.accel import cache_folder
mode = cache_folder().parent.stat().st_mode & 0o777
print(cache_folder(), oct(mode), sum("compiled again" in str(warning.message) for warning in caught))
"""


@pytest.fixture
def choose(tmp_path):
    """Return a function that imports a copy of the sources, and returns the folder that is used for kernels.

    Others can write to the folder beside the copy, so that it is not the one.
    """
    copy, temporary = tmp_path / "copy" / "periplus", tmp_path / "tmp"
    source = Path(periplus.__file__).parent
    shutil.copytree(source / "accel", copy / "accel", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "settings_section.py"):
        shutil.copy(source / name, copy)
    temporary.mkdir()
    (copy / "accel" / "__pycache__").mkdir()
    (copy / "accel" / "__pycache__").chmod(0o777)

    def choose_folder(cache_home):
        environment = {
            **os.environ,
            "PYTHONPATH": str(copy.parent),
            "XDG_CACHE_HOME": str(cache_home),
            "TMPDIR": str(temporary),
        }
        done = subprocess.run(
            [sys.executable, "-B", "-c", PROBE], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        path, mode, warned = done.stdout.split()
        return Path(path), int(mode, 8), int(warned)

    return choose_folder


def test_the_cache_folder_of_the_user_is_used_and_never_a_predictable_temporary_one(tmp_path, choose):
    # What an earlier version loaded, whoever had made it.
    planted = tmp_path / "tmp" / f"periplus-kernels-{os.getuid()}"
    planted.mkdir(mode=0o777)
    path, mode, warned = choose(tmp_path / "home")
    assert path.is_relative_to(tmp_path / "home" / "periplus" / "kernels")
    assert (mode, warned) == (0o700, 0)
    assert not list(planted.iterdir())


def test_without_a_private_folder_every_process_has_its_own(tmp_path, choose):
    (tmp_path / "shared" / "periplus").mkdir(parents=True)
    (tmp_path / "shared" / "periplus").chmod(0o777)
    path, mode, warned = choose(tmp_path / "shared")
    assert path.is_relative_to(tmp_path / "tmp")
    assert path.parent.name != f"periplus-kernels-{os.getuid()}"
    assert (mode, warned) == (0o700, 1)
    assert not path.parent.exists()
