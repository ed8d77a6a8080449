"""What is installed, what is missing, and what to do about it."""

import os
import platform
import re
import resource
import shutil
import sys
from pathlib import Path
from typing import Final, NamedTuple

from periplus.app.jobs.embedding_jobs import embedding_status
from periplus.app.remedies import with_remedy
from periplus.errors import CorruptFile, PeriplusError
from periplus.files import DataFolder, is_data_folder, open_data_folder
from periplus.limits import DiskLimit, measure_folder, pressure
from periplus.settings import Settings

__all__ = ["Finding", "examine_installation"]

_MIN_DISK: Final = 1_000_000_000
_MIN_FILES: Final = 1024
_EXTRA: Final = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


class Finding(NamedTuple):
    """One line of the doctor's report."""

    name: str
    state: str
    """'ok', 'optional' (missing, and not needed) or 'bad'."""
    detail: str


def examine_installation(settings: Settings) -> list[Finding]:
    """Examine everything that a working installation needs."""
    return [
        _python(),
        *_packages(),
        _kernels(),
        _browser(),
        _disk(Path(settings.folder)),
        _limits(settings),
        _open_files(),
        _data(settings),
        _inbox(settings),
        *_health(settings),
        _embeddings(settings),
    ]


def _python() -> Finding:
    good = sys.version_info >= (3, 11)
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return Finding("Python", "ok" if good else "bad", text if good else f"{text}; 3.11 or later is needed")


def _packages() -> list[Finding]:
    """Group what periplus requires by extra, and compare it with what is installed."""
    import importlib.metadata

    groups: dict[str, list[str]] = {"": []}
    for line in importlib.metadata.requires("periplus") or ():
        name = re.split(r"[<>=!~;\s\[]", line, maxsplit=1)[0]
        extra = _EXTRA.search(line)
        groups.setdefault(extra.group(1) if extra else "", []).append(name)
    return [_group(extra, names) for extra, names in groups.items()]


def _group(extra: str, names: list[str]) -> Finding:
    missing = [name for name in names if _version(name) is None]
    title = f"Extra '{extra}'" if extra else "Packages"
    if not missing:
        return Finding(title, "ok", ", ".join(f"{name} {_version(name)}" for name in names))
    command = _install(extra)
    return Finding(title, "optional" if extra else "bad", f"{', '.join(missing)} not installed; {command}")


def _install(extra: str = "") -> str:
    """Return how to install an extra, or the default packages: in a clone, or from a package index."""
    clone = Path(__file__).parents[3]
    if (clone / "pyproject.toml").exists():
        if extra in ("", "dev"):
            return f"make setup, in {clone}"
        return f".venv/bin/python scripts/install_locked.py {extra}, in {clone}"
    return f"pip install 'periplus[{extra}]'" if extra else "pip install --force-reinstall periplus"


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _kernels() -> Finding:
    try:
        from periplus.accel import is_compiled
    except ImportError as error:
        return Finding("Kernels", "bad", f"cannot be compiled: {error}; {_install()}")

    text = "compiled" if is_compiled() else "not compiled yet; the first command that needs them does it, once"
    return Finding("Kernels", "ok", text)


def _browser() -> Finding:
    program = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if program:
        return Finding("Chromium", "ok", program)
    return Finding("Chromium", "optional", "not installed, only tests need it; sudo apt-get install chromium")


def _existing_parent(folder: Path) -> Path:
    """Return the folder itself, or its nearest parent that exists."""
    path = folder.absolute()
    while not path.exists():
        path = path.parent
    return path


def _disk(folder: Path) -> Finding:
    parent = _existing_parent(folder)
    if not os.access(parent, os.W_OK):
        return Finding("Disk", "bad", f"no permission to write to {parent}; choose another folder with --folder")
    free = shutil.disk_usage(parent).free
    text = f"{free / 1e9:,.1f} GB free for {folder}"
    return Finding("Disk", "ok", text) if free >= _MIN_DISK else Finding("Disk", "bad", f"{text}: free some space")


def _limits(settings: Settings) -> Finding:
    """Report how much of the disk limit is used, and what a running process has reported of any limit."""
    folder, limits = Path(settings.folder), settings.limits
    reason = pressure(folder) or DiskLimit(folder, limits).pause_reason()
    if reason:
        return Finding("Limits", "bad", reason)
    parts = [f"{measure_folder(folder) / 1e9:.3g} of {limits.disk_gb:g} GB"] if limits.disk_gb else []
    parts += [f"{limits.memory_mb:,} MB of memory"] if limits.memory_mb else []
    parts += [f"{limits.bandwidth_mbit:g} Mbit/s"] if limits.bandwidth_mbit else []
    return Finding("Limits", "ok", ", ".join(parts) or "none are set, see limits.* in docs/settings.md")


def _open_files() -> Finding:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= _MIN_FILES:
        return Finding("Open files", "ok", f"up to {'any number' if soft == resource.RLIM_INFINITY else f'{soft:,}'}")
    return Finding("Open files", "bad", f"only {soft}; raise it with: ulimit -n 4096")


def _data(settings: Settings) -> Finding:
    folder = Path(settings.folder)
    try:
        open_data_folder(folder, create=False)
    except PeriplusError as error:
        return Finding("Data", "bad", str(error))
    if not is_data_folder(folder):
        return Finding(
            "Data", "ok", f"nothing in {folder} yet; begin with: periplus crawl URL, or periplus import FILE"
        )
    data = DataFolder(folder)
    parts = [path.name for path in (data.store, data.graph, data.index) if path.exists()]
    try:
        _open_parts(data, parts, settings)
    except CorruptFile as error:
        return Finding("Data", "bad", str(with_remedy(error, folder)))
    except (PeriplusError, OSError) as error:
        return Finding("Data", "bad", str(error))
    if (folder / "keys.json").exists() and (folder / "keys.json").stat().st_mode & 0o077:
        return Finding("Data", "bad", f"others can read {folder / 'keys.json'}; chmod 600 it")
    shared = "; others can read it: chmod 700 it" if folder.stat().st_mode & 0o077 else ""
    return Finding("Data", "ok", f"{folder} has {', '.join(parts) or 'nothing in it yet'}{shared}")


def _open_parts(data: DataFolder, parts: list[str], settings: Settings) -> None:
    """Open the parts that exist, which verifies the index and the end of the store."""
    if "index" in parts:
        from periplus.index import Index

        Index.open(data.index)
    if "graph" in parts:
        from periplus.graph import Graph

        Graph.open(data.graph)
    if "store" in parts:
        from periplus.store import PageStore

        PageStore.open(data.store, settings.store).close()


def _inbox(settings: Settings) -> Finding:
    """Report the published pages that wait, and those whose files are damaged."""
    from periplus.publish import Inbox

    folder = Path(settings.folder)
    try:
        statistics = Inbox(folder).statistics()
    except OSError as error:
        return Finding("Inbox", "bad", f"{folder / 'inbox'} cannot be read: {error.strerror}")
    waiting = statistics.pending + statistics.indexed
    text = f"{waiting:,} published pages wait to be indexed or stored" if waiting else "no published page waits"
    if not statistics.damaged:
        return Finding("Inbox", "ok", text)
    advice = "publish these pages again, then remove the files"
    return Finding("Inbox", "bad", f"{text}; {statistics.damaged:,} damaged (inbox/*.damaged): {advice}")


def _health(settings: Settings) -> list[Finding]:
    """Report the threads and processes of running servers and crawls that fail."""
    from periplus.health import read_health

    return [
        Finding(
            f"Part '{health.name}'",
            "bad" if health.is_failing() else "ok",
            f"{'fails' if health.is_failing() else 'failed before'} in process {health.process}, "
            f"{health.restarts:,} restarts: {health.error}",
        )
        for health in read_health(Path(settings.folder))
    ]


def _embeddings(settings: Settings) -> Finding:
    """Report what ranking by embeddings has and lacks; nothing of it is needed unless it is switched on."""
    status = embedding_status(Path(settings.folder), settings)
    missing = "bad" if settings.embeddings.enabled and settings.embeddings.semantic == "auto" else "optional"
    return Finding("Embeddings", "ok" if status.usable else missing, f"{status.state}. {status.advice}".strip())
