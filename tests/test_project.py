"""The project's shell: the lock covers what is asked for, and the scripts say clearly what is missing."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import audit  # noqa: E402
import install_locked  # noqa: E402
import licences  # noqa: E402
import lock_file  # noqa: E402
import lock_packages  # noqa: E402
import sbom  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


LOCK = lock_file.read_lock(ROOT / "constraints.txt")
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "CNRI-Python",
    "ISC",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "PSF-2.0",
    "ZPL-2.1",
    "Zlib",
}
WEAK_COPYLEFT = {
    # In the default install: data and certificates, used as they are.
    "certifi": "MPL-2.0",
    "publicsuffixlist": "MPL-2.0",
    # Only where something is developed, tested or compared.
    "axe-playwright-python": "MPL-2.0",
    "fpdf2": "LGPL-3.0-only",
    "fqdn": "MPL-2.0",
    "hypothesis": "MPL-2.0",
    "pathspec": "MPL-2.0",
    "tld": "MPL-1.1",
    "tqdm": "MPL-2.0",
}
"""Packages under licences that ask for changes to the package itself to be published, and nothing else of us."""


def locked() -> dict[str, tuple[int, ...]]:
    return {normal(package.name): numbers(package.version) for package in LOCK}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def extra(name: str) -> list[str]:
    """Return the requirements of an extra, with those of the extras that it includes."""
    lines = PROJECT["project"]["optional-dependencies"][name]
    own = [line for line in lines if not line.startswith("periplus[")]
    included = [re.findall(r"[a-z]+", line)[1:] for line in lines if line.startswith("periplus[")]
    return own + [line for names in included for other in names for line in extra(other)]


def wanted() -> list[tuple[str, str]]:
    lines = [*PROJECT["project"]["dependencies"], *extra("dev"), *extra("bench"), *PROJECT["build-system"]["requires"]]
    return [(re.split(r"[<>=\[]", line)[0], line.partition(">=")[2]) for line in lines]


def test_development_installs_every_extra_that_tests_need() -> None:
    assert {*extra("semantic"), *extra("learn"), *extra("cluster"), *extra("sites")} <= {*extra("dev")}


@pytest.mark.parametrize(("name", "least"), wanted())
def test_every_dependency_is_locked_to_a_version_that_is_allowed(name: str, least: str) -> None:
    assert locked()[normal(name)] >= numbers(least)


def test_nothing_is_locked_twice_or_to_a_place() -> None:
    text = (ROOT / "constraints.txt").read_text("utf-8")
    assert " @ " not in text
    assert "://" not in text
    assert "periplus" not in locked()
    names = [package.name for package in LOCK if not package.marker]
    assert len(names) == len(set(names))
    # Of two versions, the environment decides.
    assert not set(names) & {package.name for package in LOCK if package.marker}


@pytest.mark.parametrize("package", LOCK, ids=lambda package: f"{package.name}-{package.version}")
def test_every_package_has_hashes_and_groups(package: lock_file.LockedPackage) -> None:
    assert package.hashes
    assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in package.hashes)
    assert set(package.groups) <= {"run", "build", *PROJECT["project"]["optional-dependencies"]}
    assert package.groups


def is_allowed(package: str, licence: str) -> bool:
    """Return whether one side of each OR is permissive, or is listed for the package."""
    allowed = PERMISSIVE | {WEAK_COPYLEFT.get(package, "MIT")}
    parts = licence.replace("(", "").replace(")", "").split(" OR ")
    return any(all(name.strip() in allowed for name in part.split(" AND ")) for part in parts)


@pytest.mark.parametrize("package", LOCK, ids=lambda package: f"{package.name}-{package.version}")
def test_every_package_of_every_group_has_an_allowed_licence(package: lock_file.LockedPackage) -> None:
    assert is_allowed(package.name, package.licence), package.licence


@pytest.mark.parametrize("licence", ["AGPL-3.0-only", "GPL-2.0-or-later", "MIT AND GPL-3.0-only", "unknown", "MPL-2.0"])
def test_other_licences_are_not_allowed(licence: str) -> None:
    assert not is_allowed("anything", licence)


def test_the_licences_in_the_lock_are_those_of_what_is_installed() -> None:
    installed = {(normal(item.name), item.version): licences.licence_of(item) for item in metadata.distributions()}
    compared = 0
    for package in LOCK:
        stated = installed.get((package.name, package.version))
        if stated and package.name not in lock_packages.STATED:
            assert stated == package.licence, package.name
            compared += 1
    assert compared > 20


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    lock_file.write_lock(tmp_path / "lock", LOCK)
    assert lock_file.read_lock(tmp_path / "lock") == LOCK
    assert (tmp_path / "lock").read_text("utf-8") == (ROOT / "constraints.txt").read_text("utf-8")


def test_a_package_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    """What pip does with a line of the lock: the archive is compared before it is unpacked."""
    wheel = tmp_path / "wheels" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    right = f"sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    for number, (value, code) in enumerate(((right, 0), (f"sha256:{'0' * 64}", 1))):
        requirements = tmp_path / f"{number}.txt"
        requirements.write_text(lock_file.LockedPackage("tiny", "1.0", "", (value,)).requirement())
        done = subprocess.run(
            [
                *(*install_locked.PIP, "install", *install_locked.OPTIONS, "-r", str(requirements)),
                *("--no-index", "-f", str(wheel.parent), "--target", str(tmp_path / f"target-{number}")),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert not (tmp_path / "target-1" / "tiny.py").exists()


def test_the_bill_of_materials_is_valid_cyclonedx() -> None:
    schema = pytest.importorskip("cyclonedx.schema")
    validation = pytest.importorskip("cyclonedx.validation.json")
    run = [package for package in LOCK if "run" in package.groups]
    document = sbom.bill(run)
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(json.dumps(document)) is None
    assert {item["name"] for item in document["components"]} == {package.name for package in run}
    assert sbom.bill(run) == document
    of = {item["ref"]: item["dependsOn"] for item in document["dependencies"]}
    numba = next(reference for reference in of if "/numba@" in reference)
    assert any("/llvmlite@" in reference for reference in of[numba])


@pytest.mark.parametrize(
    ("code", "errors", "status", "says"),
    [
        (0, "No known vulnerabilities found", 0, "no known"),
        (1, "Found 2 known vulnerabilities in 1 package", 1, "Found 2"),
        (1, "requests.exceptions.ConnectionError: Max retries exceeded", 0, "not checked: no network"),
        (2, "usage: pip-audit", 1, "failed"),
    ],
)
def test_an_audit_without_a_network_says_so(code: int, errors: str, status: int, says: str) -> None:
    answer = audit.report(code, "", errors)
    assert answer[0] == status
    assert says in answer[1]


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
