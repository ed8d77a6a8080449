"""Build a wheel for this kind of machine, with compiled kernels: build_wheel.py [--target x86-64-v3|native] [--to dist]

The sources are copied to build/wheel, all kernels are compiled there for the target, and hatchling packs both. The
wheel is for the version of Python that builds it. On a machine whose processor, Numba or LLVM differs, kernels are
compiled at the first start, as with a wheel that has none.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
# What x86-64-v3 has: processors since 2013 (Haswell) and 2015 (Excavator).
V3 = (
    "64bit avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 "
    "ssse3 xsave"
)
COMPILE = """
import sys
from pathlib import Path
from periplus.accel import cache_folder, warm_up
from periplus.accel.precompiled import PRECOMPILED, collect
warm_up(lambda stage, done, total: print(f"\\r{stage} {100 * done // total} %", end="", file=sys.stderr, flush=True))
print(f"\\n{collect(cache_folder(), PRECOMPILED)} compiled functions", file=sys.stderr)
"""
HOOK = """
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = {tag!r}
"""


def main() -> int:
    """Build the wheel; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="x86-64-v3" if platform.machine() == "x86_64" else "native")
    parser.add_argument("--to", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    _copy_sources()
    environment = os.environ | {"PYTHONPATH": str(WORK / "src")}
    if options.target != "native":
        features = ",".join(f"+{name}" for name in V3.split())
        environment |= {"NUMBA_CPU_NAME": options.target, "NUMBA_CPU_FEATURES": features}
    subprocess.run([sys.executable, "-c", COMPILE], check=True, env=environment)
    for folder in list((WORK / "src").rglob("__pycache__")):
        shutil.rmtree(folder)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(options.to.resolve())]
    return subprocess.run(command, check=False, cwd=WORK).returncode


def _copy_sources() -> None:
    """Copy what a wheel is built from, and say in it which machines it is for."""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(ROOT / "src", WORK / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("README.md", "LICENSE"):
        shutil.copy2(ROOT / name, WORK / name)
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{version}-{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    (WORK / "hatch_build.py").write_text(HOOK.format(tag=tag), "utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    project += '\n[tool.hatch.build.targets.wheel.hooks.custom]\npath = "hatch_build.py"\n'
    (WORK / "pyproject.toml").write_text(project, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
