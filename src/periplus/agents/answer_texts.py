"""Answers of tools as Markdown: short, with what a model needs to quote and to go on."""

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["page_text", "search_text", "why_text"]

_LONGEST_TITLE: Final = 200


def search_text(data: dict[str, Any], site: str = "") -> str:
    """Return results and their passages as Markdown. site: the host that the search was restricted to."""
    where = f" in {site}" if site else ""
    lines = [*_notes(data)]
    if not data["results"]:
        return "\n".join([*lines, f"No results{where}."])
    first = int(data["start"])
    last = first + len(data["results"])
    lines.append(f"Results {first + 1} to {last} of about {data['total']:,}{where}.")
    passages: dict[str, list[dict[str, Any]]] = {}
    for passage in data["passages"]:
        passages.setdefault(passage["url"], []).append(passage)
    for number, result in enumerate(data["results"], first + 1):
        lines += ["", *_result(number, result, passages.get(result["url"], []))]
    return "\n".join(lines)


def page_text(page: dict[str, Any]) -> str:
    """Return a part of a page, headed by where it is from and which part it is."""
    parts = f"Part {page['part']} of {page['parts']}." if page["parts"] > 1 else ""
    more = f" Read on with part={page['part'] + 1}." if page["part"] < page["parts"] else ""
    fetched = f"Fetched {page['fetched']}." if page.get("fetched") else ""
    head = " ".join(word for word in (fetched, parts + more) if word)
    return f"{page['url']}\n{head}\n\n{page['markdown']}"


def why_text(found: dict[str, Any]) -> str:
    """Return what became of a page in a query, and what would change it."""
    lines = [str(found["summary"])]
    if found["other"]:
        lines.append(f"Instead: {found['other']}")
    if found["better"]:
        lines.append(f"The next better result: {found['better']['url']}")
    return "\n".join([*lines, *(f"- {line}" for line in found["advice"])])


def _notes(data: dict[str, Any]) -> Iterator[str]:
    if data["showing_for"]:
        yield f"Showing results for: {_line(data['showing_for'])}"
    for note in data["notes"]:
        yield _line(note)


def _result(number: int, result: dict[str, Any], passages: list[dict[str, Any]]) -> Iterator[str]:
    yield f"## {number}. {_line(result['title'] or result['url'])}"
    yield str(result["url"])
    if not passages:
        yield f"> {_line(result['content'], 1_000)}" if result["content"] else ""
        return
    if passages[0].get("fetched"):
        yield f"Fetched {passages[0]['fetched']}."
    for passage in passages:
        yield ""
        if passage["headings"]:
            yield "Section: " + " > ".join(_line(heading) for heading in passage["headings"])
        yield from (f"> {line}".rstrip() for line in str(passage["text"]).splitlines())


def _line(text: Any, longest: int = _LONGEST_TITLE) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"
