"""The systemd unit and the container: what they promise is in them, and systemd's own judgement of the unit."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

UNIT = Path(__file__).resolve().parents[1] / "packaging" / "periplus.service"
MAX_EXPOSURE = 2.0
"""Of 10; systemd calls this 'OK', its best judgement but one."""


def directives() -> dict[str, list[str]]:
    lines = [line for line in UNIT.read_text("utf-8").splitlines() if "=" in line and not line.startswith("#")]
    pairs: dict[str, list[str]] = {}
    for line in lines:
        name, _, value = line.partition("=")
        pairs.setdefault(name, []).append(value)
    return pairs


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("CapabilityBoundingSet", ""),
        ("UMask", "0077"),
        ("StateDirectoryMode", "0700"),
        ("CacheDirectoryMode", "0700"),
        ("RestrictSUIDSGID", "yes"),
        ("LimitCORE", "0"),
    ],
)
def test_the_unit_has_its_sandbox(name: str, value: str) -> None:
    assert directives()[name] == [value]


def test_the_hard_memory_bound_is_above_the_soft_one() -> None:
    unit = directives()
    soft = int(next(value for value in unit["Environment"] if "MEMORY_MB" in value).partition("=")[2])
    high, hard = (int(unit[name][0].removesuffix("M")) for name in ("MemoryHigh", "MemoryMax"))
    assert soft < high < hard


def test_systemd_judges_the_unit() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(UNIT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    judged = re.search(r"Overall exposure level for periplus.service: ([\d.]+)", done.stdout)
    if judged is None:
        pytest.skip(f"systemd-analyze judges no files: {done.stderr.strip()[:100]}")
    assert float(judged[1]) <= MAX_EXPOSURE


def test_the_container_runs_as_nobody_in_particular_and_copies_what_exists() -> None:
    root = UNIT.parents[1]
    lines = (UNIT.parent / "Containerfile").read_text("utf-8").splitlines()
    assert "USER periplus" in lines[lines.index("FROM debian:12-slim") :]
    scripts = re.findall(r"scripts/\w+\.py", "\n".join(lines))
    assert scripts
    assert all((root / script).exists() for script in scripts)


def test_the_composition_gives_no_rights_and_bounds_memory() -> None:
    composition = yaml.safe_load((UNIT.parent / "compose.yaml").read_text("utf-8"))
    service = composition["services"]["periplus"]
    assert (UNIT.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert int(service["environment"]["PERIPLUS_LIMITS_MEMORY_MB"]) < int(service["mem_limit"].removesuffix("m"))
    assert {volume.partition(":")[0] for volume in service["volumes"]} == set(composition["volumes"])
