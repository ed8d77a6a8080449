"""The systemd unit: what it promises is in it, and systemd's own judgement of it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

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
