"""Install groups of packages from constraints.txt into the running environment: install_locked.py [--copy] GROUP...

Every file is compared with its hash before it is unpacked, and nothing is installed that the lock does not name. Then
Periplus itself is installed from this folder, with the locked build backend: so that changes here count, or, with
--copy, as it is now.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from lock_file import read_lock

ROOT = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", "--no-input"]
OPTIONS = ["--require-hashes", "--no-deps", "--only-binary", ":all:"]


def main(groups: list[str]) -> int:
    """Install the groups, and Periplus if 'build' is among them."""
    copy, groups = "--copy" in groups, [group for group in groups if group != "--copy"]
    packages = read_lock(ROOT / "constraints.txt")
    unknown = set(groups) - {group for package in packages for group in package.groups}
    if not groups or unknown:
        sys.stderr.write(f"install_locked.py: no group {', '.join(sorted(unknown)) or 'is named'}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        chosen = [package for package in packages if set(package.groups) & set(groups)]
        requirements.write_text("".join(package.requirement() for package in chosen), "utf-8")
        code = subprocess.run([*PIP, "install", *OPTIONS, "-r", str(requirements)], check=False).returncode
    if code == 0 and "build" in groups:
        command = [*PIP, "install", "--no-deps", "--no-build-isolation", *(() if copy else ("-e",)), str(ROOT)]
        code = subprocess.run(command, check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
