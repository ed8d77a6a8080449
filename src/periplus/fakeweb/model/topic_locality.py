"""How far links keep to a topic: what a crawl that keeps to one can make use of, and what chance alone would give."""

from typing import NamedTuple

import numpy as np

from periplus.fakeweb.content.word_lists import topics
from periplus.fakeweb.model.web_graph import WebGraph

__all__ = ["TopicLocality", "topic_locality"]


class TopicLocality(NamedTuple):
    """Of the links of a topic's articles to articles, how many lead to articles of the topic."""

    share: float
    """Articles about the topic among all: what links at random would come to."""
    all: float
    far: float
    """Of links to other hosts only."""


def topic_locality(graph: WebGraph, topic: str) -> TopicLocality:
    """Count the links of articles; pages that are not about the topic have theirs not counted."""
    number = [known.name for known in topics()].index(topic)
    right = graph.topic_of == number
    source = np.repeat(np.arange(len(right)), np.diff(graph.link_first))
    target = graph.link_to
    ours = right[source] & (source != target)
    away = ours & (graph.host_of[source] != graph.host_of[target])
    shares = (right, right[target[ours]], right[target[away]])
    return TopicLocality(*(float(found.mean()) if len(found) else 0.0 for found in shares))
