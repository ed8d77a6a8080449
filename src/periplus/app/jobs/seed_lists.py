"""Seeds as an operator gives them: URLs, files of URLs, and standard input."""

import codecs
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from periplus.errors import BadFile, BadInput

__all__ = ["read_seeds"]

_MAX_SEEDS: Final = 10_000_000
_MAX_LINE: Final = 8_192
_STANDARD_INPUT: Final = "-"


def read_seeds(arguments: Sequence[str], standard_input: BinaryIO | None = None) -> list[str]:
    """Return the seeds of a command line: URLs as they are, '@FILE' and '-' (standard input) as the URLs listed there.

    A list has one URL on a line, or a bare host name, which stands for its home page. What follows a blank is ignored,
    and so are empty lines and lines that begin with '#'. Files may be compressed by gzip or zstd. Of two equal seeds
    the first counts.
    """
    seeds: dict[str, None] = {}
    for argument in arguments:
        if argument == _STANDARD_INPUT:
            source = standard_input if standard_input is not None else sys.stdin.buffer
            seeds.update(dict.fromkeys(_listed(source, "standard input")))
        elif argument.startswith("@"):
            path = Path(argument[1:])
            seeds.update(dict.fromkeys(_listed(_open(path), str(path))))
        else:
            seeds[argument] = None
        if len(seeds) > _MAX_SEEDS:
            raise BadInput(f"There are more than {_MAX_SEEDS:,} seeds.", "Crawl them in several data folders.")
    if arguments and not seeds:
        raise BadInput("The list of seeds is empty.", "Write one URL on each line.")
    return list(seeds)


def _open(path: Path) -> Iterator[bytes]:
    from periplus.store import read_lines

    if not path.name:
        raise BadInput("'@' needs the name of a file.", "Write @seeds.txt, or - for standard input.")
    return read_lines(path)


def _listed(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if number > _MAX_SEEDS:
            raise BadInput(f"{name} has more than {_MAX_SEEDS:,} lines.", "Crawl them in several data folders.")
        line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        words = line.split(None, 1) if len(line) <= _MAX_LINE else [line]
        if not words or words[0].startswith(b"#"):
            continue
        if len(words[0]) > _MAX_LINE:
            raise BadFile(f"{name}, line {number}: the URL is longer than {_MAX_LINE:,} bytes.")
        try:
            url = words[0].decode("utf-8")
        except UnicodeDecodeError:
            raise BadFile(f"{name}, line {number} is not UTF-8 text.", "Write one URL on each line.") from None
        yield url if "://" in url else f"http://{url}/"
