"""tantivy, through its Python package: whitespace tokens, positions, BM25 with k1 1.2 and b 0.75 (its only ones)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tantivy

from corpus import Asked
from figures import folder_bytes
from peers import Built, Engine


class Tantivy(Engine):
    """A single-threaded writer; a searcher over, where the heap suffices, one segment."""

    name = "tantivy"

    def __init__(self, heap_mb: int = 4_000, tokenizer: str = "tokens") -> None:
        self._heap = heap_mb * 1_000_000
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", stored=True, tokenizer_name=tokenizer, index_option="position")
        builder.add_unsigned_field("number", stored=True)
        self.schema = builder.build()

    def _index(self, folder: Path) -> tantivy.Index:
        index = tantivy.Index(self.schema, str(folder))
        index.register_tokenizer("tokens", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())
        return index

    def build(self, texts: Sequence[str], folder: Path) -> Built:
        folder.mkdir(parents=True)
        index = self._index(folder)
        began, before = time.perf_counter(), time.process_time()
        writer = index.writer(self._heap, 1)
        for number, text in enumerate(texts):
            document = tantivy.Document()
            document.add_text("text", text)
            document.add_unsigned("number", number)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        seconds, cpu = time.perf_counter() - began, time.process_time() - before
        whole, plain = folder_bytes(folder), folder_bytes(folder, (".store",))
        return Built(seconds, plain, whole - plain, cpu)

    def open(self, folder: Path) -> None:
        index = self._index(folder)
        index.reload()
        self._searcher = index.searcher()
        self.segments = self._searcher.num_segments

    def prepare(self, asked: Asked, k: int) -> Any:
        if asked.kind == "phrase":
            return tantivy.Query.phrase_query(self.schema, "text", list(asked.terms)), k
        terms = [tantivy.Query.term_query(self.schema, "text", term, "freq") for term in asked.terms]
        if len(terms) == 1:
            return terms[0], k
        occur = tantivy.Occur.Must if asked.kind == "intersection" else tantivy.Occur.Should
        return tantivy.Query.boolean_query([(occur, term) for term in terms]), k

    def search(self, prepared: Any) -> Any:
        query, k = prepared
        return self._searcher.search(query, k, False)

    def hits(self, answer: Any) -> list[int]:
        return [self._searcher.doc(place)["number"][0] for _, place in answer.hits]


def make() -> Engine:
    """Return the engine."""
    return Tantivy()
