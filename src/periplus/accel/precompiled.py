"""Kernels that were compiled when the package was built: taken over into the cache, if they fit this machine.

A wheel of `make wheel` has them in `accel/precompiled`: a folder for each folder of sources, with the files of Numba's
cache, and `target.json`, which says what they were compiled for. They fit if the sources, Python, Numba and LLVM are
the same, and the processor has all the features that they use. Then they are copied into the cache, and their indexes
are made to name this processor. Otherwise kernels are compiled here, and the reason is reported.

The format of an index is Numba's own; `lazy_loading.is_supported` says whether it is known.
"""

import io
import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.caching import UserProvidedCacheLocator
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from periplus.accel.compile_cache import fingerprint_all
from periplus.accel.lazy_loading import is_supported

__all__ = ["PRECOMPILED", "TARGET_FILE", "collect", "describe_build", "find_obstacle", "take_over"]

_PACKAGE: Final = Path(__file__).parents[1]
PRECOMPILED: Final = Path(__file__).parent / "precompiled"
"""Where a wheel has its compiled kernels."""
TARGET_FILE: Final = "target.json"


def describe_build() -> dict[str, str]:
    """Return what compiled code depends on: sources, versions, system, and the processor that it is compiled for."""
    system, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return {
        "sources": fingerprint_all(),
        "python": sys.implementation.cache_tag,
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": system,
        "processor": processor,
        "features": features,
    }


def find_obstacle(target: dict[str, str]) -> str:
    """Return why code that was compiled for a target cannot run here; an empty string if it can."""
    here = describe_build()
    if not is_supported():
        return f"the files of Numba {numba.__version__} are not known"
    for name in ("sources", "python", "numba", "llvmlite", "system"):
        if target.get(name) != here[name]:
            return f"{name} differ: {target.get(name)} there, {here[name]} here"
    missing = _wanted(target.get("features", "")) - _available()
    return f"this processor lacks {', '.join(sorted(missing))}" if missing else ""


def _wanted(features: str) -> set[str]:
    """Return the features that code uses: '+avx2,-avx512f' is avx2."""
    return {feature[1:] for feature in features.split(",") if feature.startswith("+")}


def _available() -> set[str]:
    """Return the features of this processor."""
    return {name for name, present in llvm.get_host_cpu_features().items() if present}


def collect(cache: Path, destination: Path, package: Path = _PACKAGE) -> int:
    """Copy all compiled kernels of a cache to the folder of a wheel; return how many files there are.

    Parameters
        cache: folder of compiled kernels
        destination: folder that is made for them, with a description of what they were compiled for
        package: where the sources are that they were compiled from
    """
    shutil.rmtree(destination, ignore_errors=True)
    for name, folder in _source_folders(package).items():
        if (cache / folder).is_dir():
            shutil.copytree(cache / folder, destination / name, ignore=shutil.ignore_patterns("*.lock", "*.tmp.*"))
    (destination / TARGET_FILE).write_text(json.dumps(describe_build(), indent=1) + "\n", "utf-8")
    return sum(1 for _ in destination.rglob("*.nbc"))


def take_over(cache: Path, precompiled: Path = PRECOMPILED, package: Path = _PACKAGE) -> str:
    """Copy precompiled kernels into the cache; return why they are not usable, or an empty string."""
    try:
        target = json.loads((precompiled / TARGET_FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return "the package has no compiled kernels"
    obstacle = find_obstacle(target)
    if obstacle:
        return obstacle
    processor = cpu_target.target_context.codegen().magic_tuple()
    for name, folder in _source_folders(package).items():
        if (precompiled / name).is_dir():
            (cache / folder).mkdir(mode=0o700, exist_ok=True)
            for path in sorted((precompiled / name).glob("*.nbc")):
                shutil.copyfile(path, cache / folder / path.name)
            for path in (precompiled / name).glob("*.nbi"):
                _replace(cache / folder / path.name, _name_processor(path.read_bytes(), processor))
    return ""


def _replace(path: Path, data: bytes) -> None:
    """Write a file that is either as it was or complete, at any moment."""
    new = path.with_suffix(".new")
    new.write_bytes(data)
    new.replace(path)


def _name_processor(index: bytes, processor: Any) -> bytes:
    """Return the index of a kernel with the name and the features of another processor in its keys."""
    with io.BytesIO(index) as source:
        version = pickle.load(source)
        stamp, entries = pickle.loads(source.read())
    named = {(signature, processor, code): name for (signature, _, code), name in entries.items()}
    data: bytes = pickle.dumps(version, protocol=-1) + dumps((stamp, named))
    return data


def _source_folders(package: Path) -> dict[str, str]:
    """Return the folder in a cache of each folder of kernel sources, by its dotted name: 'index.kernels'."""
    sources = {
        path.parent
        for path in package.rglob("*.py")
        if path.parent.name in ("accel", "kernels") or path.stem == "kernels"
    }
    return {
        ".".join(folder.relative_to(package).parts): UserProvidedCacheLocator.get_suitable_cache_subpath(
            str(folder / "any.py")
        )
        for folder in sources
    }
