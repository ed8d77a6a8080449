"""Write a software bill of materials: sbom.py FILE GROUP... (CycloneDX 1.6, JSON).

It lists what the lock would install for those groups, with versions, licences, hashes and who needs whom as the
installed metadata state it. The output depends on the lock and the environment only, so that two builds can be
compared: it has no time and no random serial number.
"""

import hashlib
import json
import re
import sys
import tomllib
import uuid
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from licences import normal_name
from lock_file import LockedPackage, read_lock

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def package_url(name: str, version: str) -> str:
    """Return the identifier of a distribution in the notation of purl."""
    return f"pkg:pypi/{normal_name(name)}@{version}"


def licences(expression: str) -> list[dict[str, Any]]:
    """Return a licence as CycloneDX writes it."""
    return [] if expression == "unknown" else [{"expression": expression}]


def component(package: LockedPackage) -> dict[str, Any]:
    """Return the component of a locked package."""
    reference = package_url(package.name, package.version)
    return {
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "purl": reference,
        "licenses": licences(package.licence),
        "hashes": [{"alg": "SHA-256", "content": value.partition(":")[2]} for value in package.hashes],
        "properties": [{"name": "periplus:group", "value": group} for group in package.groups],
    }


def requirements_of(name: str) -> list[str]:
    """Return the names that a distribution requires without extras; none if it is not installed."""
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    plain = [line for line in lines if "extra ==" not in line and "extra==" not in line]
    return [normal_name(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]) for line in plain]


def bill(packages: list[LockedPackage]) -> dict[str, Any]:
    """Return the bill of materials of some locked packages."""
    references = {package.name: package_url(package.name, package.version) for package in packages}
    main = package_url(PROJECT["name"], PROJECT["version"])
    direct = [normal_name(re.split(r"[<>=\[]", line)[0]) for line in PROJECT["dependencies"]]
    needs = {main: direct} | {references[name]: requirements_of(name) for name in references}
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": main,
                "name": PROJECT["name"],
                "version": PROJECT["version"],
                "purl": main,
                "licenses": licences(PROJECT["license"]),
            }
        },
        "components": [component(package) for package in packages],
        "dependencies": [
            {"ref": reference, "dependsOn": sorted({references[name] for name in names if name in references})}
            for reference, names in needs.items()
        ],
    }
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).digest()
    return {**document, "serialNumber": f"urn:uuid:{uuid.UUID(bytes=digest[:16], version=4)}"}


def main(path: Path, groups: list[str]) -> None:
    """Write the bill of materials of the groups."""
    packages = [package for package in read_lock(ROOT / "constraints.txt") if set(package.groups) & set(groups)]
    newest = list({package.name: package for package in packages}.values())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(bill(newest), indent=1) + "\n", "utf-8")
    sys.stdout.write(f"{path}: {len(newest)} packages\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
