"""How many links stay within a topic, which a focused crawl can exploit, and how many would by chance."""

from typing import NamedTuple

import numpy as np

from periplus.fakeweb.content.word_lists import topics
from periplus.fakeweb.model.web_graph import WebGraph

__all__ = ["TopicLocality", "topic_locality"]


class TopicLocality(NamedTuple):
    """Shares of links from a topic's articles that lead to articles of the topic."""

    share: float
    """Share of articles about the topic, which random links would achieve."""
    all: float
    far: float
    """The same for links to other hosts."""


def topic_locality(graph: WebGraph, topic: str) -> TopicLocality:
    """Count the links of the articles of a topic."""
    number = [each.name for each in topics()].index(topic)
    right = graph.topic_of == number
    source = np.repeat(np.arange(len(right)), np.diff(graph.link_first))
    target = graph.link_to
    ours = right[source] & (source != target)
    away = ours & (graph.host_of[source] != graph.host_of[target])
    shares = (right, right[target[ours]], right[target[away]])
    return TopicLocality(*(float(share.mean()) if len(share) else 0.0 for share in shares))
