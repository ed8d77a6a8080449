"""Flags of documentation, where each is wrong, and of spam, where each is right."""

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, Final

from generator_table import GENERATORS
from generators import html_files
from periplus.parse import parse
from periplus.records import FetchRequest, FetchResult, Outcome, Page, PageFlag
from periplus.settings import ParseSettings
from periplus.url import parse_address
from spam_pages import honest_pages, spam_pages

__all__ = ["measure_flags"]

_SPAM: Final = PageFlag.ADULT | PageFlag.STUFFED | PageFlag.HIDDEN | PageFlag.LINK_FARM
_MAX_BYTES: Final = 1 << 22
_SPAM_PAGES: Final = 200
"""Pages of each kind of spam."""
_HONEST_PAGES: Final = 1_000


def _parse(body: bytes) -> Page | None:
    request = FetchRequest(parse_address("http://page.example/"))
    result = FetchResult(request, Outcome.OK, 0.0, 200, (("content-type", "text/html"),), body)
    return parse(result, ParseSettings())


def measure_flags(folder: Path, per_package: int) -> dict[str, Any]:
    """Count flags on documentation, on honest pages and on spam, and show them."""
    held_out = {name for generator in GENERATORS if generator.held_out for name in generator.packages}
    pages: Counter[str] = Counter()
    flags: dict[str, Counter[str]] = defaultdict(Counter)
    flagged: list[str] = []
    for path in html_files(folder, per_package):
        package = path.relative_to(folder).parts[0]
        group = "held out" if package in held_out else "development"
        page = _parse(path.read_bytes()[:_MAX_BYTES]) if path.suffix == ".html" else None
        if page is not None:
            pages[group] += 1
            flags[group].update(str(flag.name).lower() for flag in PageFlag(page.flags))
            if page.flags & _SPAM:
                flagged.append(f"{path.relative_to(folder)}: {', '.join(page.reasons)}")
    figures = {group: {"pages": pages[group], "flags": dict(flags[group])} for group in pages}
    print(f"\n{'flags':<32}{'pages':>8}{'spam':>8}{'other':>8}")
    for group, count in pages.items():
        spam = sum(flags[group][str(flag.name).lower()] for flag in _SPAM)
        print(f"{group:<32}{count:>8}{spam:>8}{flags[group].total() - spam:>8}  {dict(flags[group])}")
    print("\n".join(f"  {line}" for line in flagged))
    return {"documentation": figures, "flagged": flagged, **_measure_spam(len(flagged))}


def _measure_spam(wrong: int) -> dict[str, Any]:
    """Count the spam that is found; `wrong` pages of documentation were flagged too."""
    found: dict[str, list[bool]] = defaultdict(list)
    for kind, markup in spam_pages(_SPAM_PAGES):
        page = _parse(markup.encode())
        found[kind].append(page is not None and bool(page.flags & _SPAM))
    honest = [_parse(markup.encode()) for markup in honest_pages(_HONEST_PAGES)]
    wrong += sum(page is not None and bool(page.flags & _SPAM) for page in honest)
    recall = {kind: sum(values) / len(values) for kind, values in found.items()}
    for kind, values in found.items():
        print(f"{kind:<32}{len(values):>8}{sum(values):>8}   recall {recall[kind]:.3f}")
    right = sum(map(sum, found.values()))
    precision = right / max(1, right + wrong)
    total = right / max(1, sum(map(len, found.values())))
    print(f"spam: precision {precision:.4f}, recall {total:.3f}; {wrong} honest pages flagged")
    return {"recall_by_kind": recall, "precision": precision, "recall": total, "honest": len(honest)}
