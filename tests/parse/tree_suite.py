"""The tree builders' suite: its cases, and the text and links of the trees it expects."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from periplus.parse.kernels import html_tags

BLOCKS = frozenset(html_tags.ELEMENTS_BY_FLAG[html_tags.BLOCK].split()) - {"html", "body"}
UNSEEN = frozenset(["script", "style", "template", "noscript"])
LINKS = frozenset({"a", "area"})


class Node:
    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text
        self.attributes: dict[str, str] = {}
        self.children: list[Node] = []


class Case(NamedTuple):
    where: str
    data: str
    fragment: bool
    scripts: bool | None
    """Whether it is for parsers that run scripts (True) or that do not (False); None is for all."""
    tree: Node


def read_cases(path: Path) -> Iterator[Case]:
    """Read one .dat file."""
    parts = re.split(r"(?:\A|\n)#data\n", path.read_bytes().decode("utf-8"))
    for number, part in enumerate(parts[1:], 1):
        data, _, rest = ("\n" + part).partition("\n#errors")
        document = rest.partition("\n#document\n")[2]
        head = rest.partition("\n#document\n")[0] + "\n"
        scripts = True if "\n#script-on\n" in head else False if "\n#script-off\n" in head else None
        yield Case(f"{path.name}:{number}", data[1:], "\n#document-fragment\n" in head, scripts, _read_tree(document))


def _read_tree(document: str) -> Node:
    root = Node("")
    path = [root]
    for item in re.split(r"\n(?=\| )", document.rstrip("\n")):
        match = re.match(r"\| ( *)(.*)\Z", item, re.DOTALL)
        if not match:
            continue
        depth, content = len(match[1]) // 2, match[2]
        del path[depth + 1 :]
        attribute = re.match(r'([^"<][^=]*)="(.*)"\Z', content, re.DOTALL)
        if content.startswith('"'):
            path[-1].children.append(Node("-text", content[1:-1]))
        elif attribute:
            path[-1].attributes[attribute[1]] = attribute[2]
        elif content == "content" or (content.startswith("<") and not content.startswith(("<!", "<?"))):
            node = Node(content.strip("<>"))
            path[-1].children.append(node)
            path.append(node)
    return root


def collapse(text: str) -> str:
    lines = (" ".join(re.sub("[\x00-\x08\x0e-\x1b\x7f\ufeff]", "", line).split()) for line in text.split("\0"))
    return "\n".join(filter(None, lines))


def text_of(tree: Node) -> str:
    """Return the text in the order of the document, blocks on lines of their own."""
    pieces: list[str] = []
    _gather(tree, pieces)
    return collapse("".join(pieces))


def _gather(node: Node, pieces: list[str]) -> None:
    if node.name.rpartition(" ")[2] in UNSEEN or "hidden" in node.attributes:
        return
    if node.name == "-text":
        pieces.append(node.text.replace("\0", ""))
        return
    if node.name in BLOCKS:
        pieces.append("\0")
    for child in node.children:
        _gather(child, pieces)
    if node.name in BLOCKS:
        pieces.append("\0")


def links_of(tree: Node) -> list[str]:
    """Return the targets of links, each once."""
    targets: dict[str, None] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node.name in UNSEEN:
            continue
        if node.name in LINKS and "href" in node.attributes:
            targets[node.attributes["href"]] = None
        waiting.extend(reversed(node.children))
    return list(targets)
