"""The project's shell: the lock covers what is asked for, and the scripts say clearly what is missing."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> dict[str, tuple[int, ...]]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs)
    return {normal(name): numbers(version) for name, version in pairs}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def extra(name: str) -> list[str]:
    """Return the requirements of an extra, with those of the extras that it includes."""
    lines = PROJECT["project"]["optional-dependencies"][name]
    own = [line for line in lines if not line.startswith("periplus[")]
    included = [re.findall(r"[a-z]+", line)[1:] for line in lines if line.startswith("periplus[")]
    return own + [line for names in included for other in names for line in extra(other)]


def wanted() -> list[tuple[str, str]]:
    lines = [*PROJECT["project"]["dependencies"], *extra("dev"), *PROJECT["build-system"]["requires"]]
    return [(re.split(r"[<>=]", line)[0], line.partition(">=")[2]) for line in lines]


def test_development_installs_every_extra_that_tests_need() -> None:
    assert {*extra("semantic"), *extra("learn"), *extra("cluster"), *extra("sites")} <= {*extra("dev")}


@pytest.mark.parametrize(("name", "least"), wanted())
def test_every_dependency_is_locked_to_a_version_that_is_allowed(name: str, least: str) -> None:
    assert locked()[normal(name)] >= numbers(least)


def test_nothing_is_locked_twice_or_to_a_place() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert " @ " not in text
    assert "://" not in text
    names = [normal(line.split("==")[0]) for line in text.splitlines() if "==" in line]
    assert len(names) == len(set(names))
    assert "periplus" not in names


@pytest.mark.parametrize("script", [".ci/run", "scripts/lock", "scripts/make-venv", "scripts/install-chromium"])
def test_scripts_can_be_run(script: str) -> None:
    assert os.access(ROOT / script, os.X_OK)
    shell = "bash" if script == ".ci/run" else "sh"
    subprocess.run([shell, "-n", ROOT / script], check=True)


def test_continuous_integration_runs_what_people_run() -> None:
    assert "make check" in (ROOT / ".ci" / "run").read_text("utf-8")


def make_venv(python: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [ROOT / "scripts" / "make-venv", python, str(folder / "venv")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_python_that_is_not_there(tmp_path: Path) -> None:
    done = make_venv("python-of-nowhere", tmp_path)
    assert done.returncode == 1
    assert "is not installed. On Debian: apt-get install python3 python3-venv" in done.stderr


@pytest.mark.parametrize(
    ("fails_on", "says"), [("version_info", "is too old: 3.11 or later"), ("ensurepip", "apt-get install python3-venv")]
)
def test_a_python_that_is_too_old_or_bare(tmp_path: Path, fails_on: str, says: str) -> None:
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\ncase "$*" in *{fails_on}*) exit 1;; --version) echo Python 3.9.2;; esac\n')
    fake.chmod(0o755)
    done = make_venv(str(fake), tmp_path)
    assert done.returncode == 1
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_make_lists_its_targets() -> None:
    try:
        done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        pytest.skip("make is not installed")
    listed = set(re.findall(r"^  ([a-z-]+) ", done.stdout, re.M))
    assert {"setup", "demo", "test", "lint", "types", "check", "lock", "clean"} <= listed


def test_browserless_setups_are_told_so(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", ROOT / "scripts" / "install-chromium"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "the browser tests will be skipped" in done.stdout
