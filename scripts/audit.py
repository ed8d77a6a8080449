"""Look for known vulnerabilities in every package of constraints.txt, with pip-audit.

Exit status: 0 if there are none, or if the advisories could not be reached, which is reported; 1 if there are some.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from lock_file import read_lock

ROOT = Path(__file__).resolve().parents[1]
UNREACHABLE = (
    "ConnectionError",
    "ConnectTimeout",
    "Max retries exceeded",
    "NameResolution",
    "timed out",
)
"""What pip-audit, or the library below it, writes if the advisories cannot be reached."""


def report(code: int, output: str, errors: str) -> tuple[int, str]:
    """Return the exit status and the message for what pip-audit returned and wrote."""
    if code == 0:
        return 0, "audit: no known vulnerabilities"
    if "Found " in errors and "vulnerabilit" in errors:
        return 1, f"{output.rstrip()}\n{errors.strip().splitlines()[-1]}"
    if any(word in errors for word in UNREACHABLE):
        return 0, "audit: not checked: no network"
    return 1, f"audit: pip-audit failed:\n{errors.strip()[-2000:]}"


def main() -> int:
    """Run pip-audit on the versions of the lock, whatever is installed."""
    packages = read_lock(ROOT / "constraints.txt")
    newest = {package.name: package.version for package in packages}
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text("".join(f"{name}=={version}\n" for name, version in newest.items()), "utf-8")
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner", "off"]
        command += ["--timeout", "15", "-r", str(requirements)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    code, message = report(done.returncode, done.stdout, done.stderr)
    sys.stdout.write(f"{message} ({len(newest)} packages)\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
