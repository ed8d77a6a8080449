"""Queries over sites that replicate what is popular: locality over time, and latency by number of sites.

A model of documents, not of scores: a query is answered locally if the site has the best relevant documents of the
query, as master or as replica; otherwise the masters of the others are asked. So it forwards just what is needed, and
says nothing of precision: what exact bounds forward, and how precisely, is measured by `make bench-sites`. A document
that is fetched from elsewhere twice is replicated, up to a share of the site's own documents; the one that was not used
for longest makes room (COAST, sections 5.2.3.1 and 5.2.5.1). Response time is the round trip of the person to the
nearest site, a processing time that falls with the size of the index, and the slowest round trip to a site that was
asked.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from periplus.evaluate.sites.regional_log import RegionalCollection, RegionalLog
from periplus.evaluate.sites.transfer_model import TransferModel
from periplus.sites import Place, QueryAnswer, SitePlace, measure_distances

__all__ = ["nearest_sites", "simulate_queries"]

_BEST: Final = 3
"""Relevant documents that an answer needs."""
_PROCESSING: Final = 0.004
_PROCESSING_ALL: Final = 0.020
"""Seconds for an index of all documents, beyond the constant part."""
_COPY_AFTER: Final = 2
_PERSON: Final = 500.0
"""Kilometres between a person and the centre of the region."""


def nearest_sites(regions: Sequence[Place], sites: Sequence[SitePlace]) -> list[int]:
    """Return the site that is nearest to each region."""
    distances = measure_distances(regions, [site.place or Place(0.0, 0.0) for site in sites])
    return [int(row.argmin()) for row in distances]


def simulate_queries(
    collection: RegionalCollection,
    log: RegionalLog,
    masters: Mapping[int, int],
    regions: Sequence[Place],
    sites: Sequence[SitePlace],
    replica_share: float = 0.1,
    model: TransferModel | None = None,
) -> Iterator[QueryAnswer]:
    """Yield the answers of all events of a log; `masters` has the region that each document is placed in."""
    model = model or TransferModel()
    places = [site.place or Place(0.0, 0.0) for site in sites]
    home = nearest_sites(regions, sites)
    to_person = model.round_trip(measure_distances(regions, places) + _PERSON) / 1000.0
    between = model.round_trip(measure_distances(places, places)) / 1000.0
    master_of = {document: home[region] for document, region in masters.items()}
    own = np.bincount(list(master_of.values()), minlength=len(sites))
    budget = [int(replica_share * count) for count in own.tolist()]
    replicas: list[OrderedDict[int, None]] = [OrderedDict() for _ in sites]
    remote: list[dict[int, int]] = [{} for _ in sites]
    total = max(int(own.sum()), 1)
    columns = zip(log.times.tolist(), log.regions.tolist(), log.queries.tolist(), strict=True)
    for number, (when, region, query) in enumerate(columns):
        site = home[region]
        documents, grades = collection.relevant[query]
        best = documents[np.argsort(-grades, kind="stable")[:_BEST]].tolist()
        asked = set()
        for document in best:
            master = master_of.get(document, site)
            if master == site:
                continue
            if document in replicas[site]:
                replicas[site].move_to_end(document)
                continue
            asked.add(master)
            count = remote[site][document] = remote[site].get(document, 0) + 1
            if count >= _COPY_AFTER and budget[site]:
                while len(replicas[site]) >= budget[site]:
                    replicas[site].popitem(last=False)
                replicas[site][document] = None
                del remote[site][document]
        seconds = float(to_person[region, site]) + _processing(site, own, replicas, total)
        if asked:
            seconds += max(float(between[site, other]) + _processing(other, own, replicas, total) for other in asked)
        names = tuple(sites[other].name for other in sorted(asked))
        yield QueryAnswer(
            when, sites[site].name, number + 1, seconds, names, None, len(sites), tuple(int(d) for d in best)
        )


def _processing(site: int, own: np.ndarray, replicas: Sequence[OrderedDict[int, None]], total: int) -> float:
    return _PROCESSING + _PROCESSING_ALL * (int(own[site]) + len(replicas[site])) / total
