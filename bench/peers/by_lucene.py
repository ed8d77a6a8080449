"""Lucene 9.9, from the jar inside the pyserini wheel, driven by a small Java program of ours (Lucene.java).

It runs in a virtual machine of its own that stays up over all rounds, so that its compiler has warmed up.
"""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from corpus import Asked
from figures import folder_bytes
from peers import Absent, Built, Engine
from peers.wheels import unpacked

SOURCE = Path(__file__).parent / "Lucene.java"
_STORED = (".fdt", ".fdx", ".fdm")


class Lucene(Engine):
    """Whitespace tokens, positions, BM25 1.2/0.75, one segment, no query cache, hits beyond the top not counted."""

    name = "lucene"

    def __init__(self, jar: Path) -> None:
        self._classes = jar.parent / "classes"
        self._jar = jar
        self._compile()

    def _compile(self) -> None:
        compiled = self._classes / "Lucene.class"
        if compiled.exists() and compiled.stat().st_mtime >= SOURCE.stat().st_mtime:
            return
        command = ["javac", "-nowarn", "-cp", str(self._jar), "-d", str(self._classes), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Absent(f"Lucene.java does not compile: {done.stderr.strip()[:200]}")

    def _java(self, *arguments: str) -> list[str]:
        classes = f"{self._classes}:{self._jar}"
        # One core: the collector and the compiler of the virtual machine share it with the search.
        return ["java", "-Xms2g", "-Xmx4g", "-XX:+UseSerialGC", "-cp", classes, "Lucene", *arguments]

    def build(self, texts: Sequence[str], folder: Path) -> Built:
        folder.mkdir(parents=True)
        lines = folder.with_suffix(".txt")
        lines.write_text("\n".join(text or "-" for text in texts) + "\n", "utf-8")
        command = self._java("build", str(folder), str(lines), "merge")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        lines.unlink()
        whole, plain = folder_bytes(folder), folder_bytes(folder, _STORED)
        return Built(int(done.stdout.split()[-1]) / 1e9, plain, whole - plain)

    def open(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            self._java("search", str(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def _say(self, text: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Lucene's virtual machine has ended")
        return line

    def ready(self, queries: Iterable[Asked], k: int) -> None:
        asked = list(queries)
        self._count = len(asked)
        lines = "".join("\t".join((query.kind, *query.terms)) + "\n" for query in asked)
        self._say(f"ready {k} {self._count}\n{lines}")
        self._hear()

    def round(self) -> list[int]:
        self._say("round\n")
        return [int(word) for word in self._hear().split()]

    def answers(self) -> list[list[int]]:
        self._say("answers\n")
        return [[int(word) for word in self._hear().split()] for _ in range(self._count)]

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(20)


def make() -> Engine:
    """Return the engine if there is a Java compiler and the wheel can be downloaded."""
    if not (shutil.which("java") and shutil.which("javac")):
        raise Absent("there is no Java compiler")
    jar = next(unpacked("pyserini==0.25.0", "fatjar").rglob("*fatjar.jar"), None)
    if jar is None:
        raise Absent("the wheel has no jar")
    return Lucene(jar)
