"""Naive twin of `kernels.document_sets.find_phrase_documents`: over the positions of each term in each document."""

from periplus.index import Segment
from periplus.index.kernels.inversion import FIELD_SHIFT


def find_phrase_documents(segment: Segment, terms: tuple[bytes, ...], fields: int) -> list[int]:
    entries = [segment.find_term(term) for term in terms]
    documents = []
    for document in range(segment.documents):
        places = [set(segment.positions(entry, document)[0].tolist()) if entry else set() for entry in entries]
        starts = {at for at in places[0] if all(at + n in row for n, row in enumerate(places))}
        if any(fields >> (at >> FIELD_SHIFT) & 1 for at in starts):
            documents.append(document)
    return documents
