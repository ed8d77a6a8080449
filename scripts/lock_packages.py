"""Write constraints.txt anew: lock_packages.py UV [--keep]. Run by scripts/lock in a clean environment.

uv resolves all groups together, so that they can be installed together, and lists the hashes of the files for every
platform. Then everything is installed with those hashes, and the licences are read from what was installed.
"""

import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import distributions
from pathlib import Path

from licences import licence_of, normal_name
from lock_file import LockedPackage, read_lock, write_lock

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"
BUILD = ["hatchling", "editables"]
PYTHON = "3.11"
STATED = {
    "automat": "MIT",
    "jsonpointer": "BSD-3-Clause",
    "axe-playwright-python": "MIT AND MPL-2.0",
    "mergedeep": "MIT",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
}
"""Licences that are stated in the files of a distribution but not in its metadata."""
ALWAYS = {
    "python_full_version < '3.15'",
    "platform_python_implementation == 'CPython'",
    "sys_platform == 'linux'",
    "sys_platform == 'darwin'",
    "implementation_name != 'PyPy'",
}
"""Conditions that hold wherever this lock is used: tool.uv.environments of pyproject.toml, and what follows."""
NEVER = {"implementation_name == 'pypy'"}


def simplify(marker: str) -> str | None:
    """Return a marker without the conditions that always hold; None if it never holds."""
    alternatives = []
    for part in marker.split(" or "):
        conditions = [text.strip("() ") for text in part.split(" and ")]
        if not set(conditions) & NEVER:
            alternatives.append(" and ".join(text for text in conditions if text not in ALWAYS))
    if not alternatives:
        return None
    return "" if "" in alternatives else " or ".join(dict.fromkeys(alternatives))


def resolve(uv: str, folder: Path, group: str, arguments: list[str]) -> list[LockedPackage]:
    """Return what uv resolves a group to."""
    output = folder / f"{group}.txt"
    command = [uv, "pip", "compile", "-q", "--universal", "--python-version", PYTHON, "--no-annotate", "--no-header"]
    subprocess.run([*command, *arguments, "-o", str(output)], cwd=ROOT, check=True)
    return read_lock(output)


def licences(uv: str, folder: Path, packages: list[LockedPackage]) -> dict[tuple[str, str], str]:
    """Return the licence of every package and version; those that this Python does not need are unpacked elsewhere."""
    read = {(normal_name(entry.name), entry.version): licence_of(entry) for entry in distributions()}
    for package in packages:
        if (package.name, package.version) not in read and package.name not in STATED:
            target = folder / package.name
            command = [uv, "pip", "install", "-q", "--no-deps", "--target", str(target), "--python-version", "3.14"]
            subprocess.run([*command, f"{package.name}=={package.version}"], check=False)
            read |= {
                (normal_name(entry.name), entry.version): licence_of(entry)
                for entry in distributions(path=[str(target)])
            }
    return read


def main(uv: str, keep: bool) -> None:
    """Resolve, install, read the licences, and write the lock."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "build.in").write_text("\n".join(BUILD) + "\n")
        everything = ["pyproject.toml", str(folder / "build.in"), "--all-extras", "--generate-hashes"]
        if keep:
            # uv keeps the versions of an output file that exists.
            (folder / "all.txt").write_text("".join(f"{p.name}=={p.version}\n" for p in read_lock(LOCK)))
        packages = [
            package._replace(marker=marker)
            for package in resolve(uv, folder, "all", everything)
            if (marker := simplify(package.marker)) is not None
        ]
        limits = ["-c", str(folder / "all.txt")]
        groups = {"build": resolve(uv, folder, "build", [str(folder / "build.in"), *limits])}
        groups["run"] = resolve(uv, folder, "run", ["pyproject.toml", *limits])
        for extra in sorted(extras):
            groups[extra] = resolve(uv, folder, extra, ["pyproject.toml", "--extra", extra, *limits])
        names = {group: {package.name for package in members} for group, members in groups.items()}
        names = {group: members - names["run"] if group in extras else members for group, members in names.items()}
        packages = [
            package._replace(groups=tuple(group for group, members in names.items() if package.name in members))
            for package in packages
        ]
        write_lock(LOCK, packages)
        subprocess.run([sys.executable, ROOT / "scripts" / "install_locked.py", *groups], check=True)
        stated = licences(uv, folder, packages)
        write_lock(
            LOCK,
            [
                package._replace(
                    licence=STATED.get(package.name) or stated.get((package.name, package.version), "unknown")
                )
                for package in packages
            ],
        )
    sys.stdout.write(f"constraints.txt: {len(packages)} packages\n")


if __name__ == "__main__":
    main(sys.argv[1], "--keep" in sys.argv)
