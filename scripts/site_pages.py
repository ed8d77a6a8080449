"""MkDocs hook: the pages of the project's root join those of docs/, and lists of pages fill the navigation."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "license.txt",
}
"""Files of the project's root, and what they are called on the site."""

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)(#[^)\s]*)?\)")
_HTML_LINK = re.compile(r'((?:src|srcset|href)=")(docs/[^"]+)(")')
_TITLE = re.compile(r"^# (.+)$", re.M)
_LISTED = re.compile(r"([a-z-]+)/")


def on_config(config: Any) -> Any:
    """Replace every `folder/` in the navigation by the pages of that folder."""
    config.nav = [_filled(entry) for entry in config.nav]
    return config


def _filled(entry: dict[str, Any]) -> dict[str, Any]:
    ((title, content),) = entry.items()
    listed = _LISTED.fullmatch(content) if isinstance(content, str) else None
    if listed is None:
        return entry
    pages = sorted(path for path in (ROOT / "docs" / listed[1]).glob("*.md") if not path.stem.startswith("000"))
    return {title: [{_title(page): f"{listed[1]}/{page.name}"} for page in pages]}


def _title(page: Path) -> str:
    """Return the first heading of a page, without the markup that a navigation would show as it is."""
    match = _TITLE.search(page.read_text("utf-8"))
    return match[1].replace("`", "") if match else page.stem


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the project's root."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make links between the root and docs/ relative to the site."""
    folder = Path(page.file.src_uri).parent
    at_root = page.file.src_uri in ROOT_PAGES.values()

    def rewrite(match: re.Match[str]) -> str:
        return f"{match[1]}{site_path(match[2], folder, at_root)}{match[3] or ''})"

    text = _LINK.sub(rewrite, markdown)
    if at_root:
        text = _HTML_LINK.sub(lambda match: match[1] + match[2].removeprefix("docs/") + match[3], text)
    return text


def site_path(target: str, folder: Path, at_root: bool) -> str:
    """Return the address on the site of what a page links to; `folder` is that of the page, within docs/."""
    if re.match(r"[a-z]+:", target):
        return target
    if at_root:
        return ROOT_PAGES.get(target, target.removeprefix("docs/"))
    up = "../" * len(folder.parts)
    if target.startswith(f"{up}../") and target[len(up) + 3 :] in ROOT_PAGES:
        return up + ROOT_PAGES[target[len(up) + 3 :]]
    return target
