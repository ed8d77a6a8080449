"""PageRank as it is written on paper, over dictionaries."""


def pagerank(links, nodes, damping, tolerance, rounds=200):
    """Rank `nodes` nodes by `links`, an iterable of (source, target, weight)."""
    out = {node: {} for node in range(nodes)}
    for source, target, weight in links:
        out[source][target] = out[source].get(target, 0.0) + weight
    ranks = dict.fromkeys(range(nodes), 1.0 / nodes)
    for _ in range(rounds):
        fresh = dict.fromkeys(range(nodes), (1 - damping) / nodes)
        for node, given in out.items():
            total = sum(given.values())
            if total > 0:
                for target, weight in given.items():
                    fresh[target] += damping * ranks[node] * weight / total
            else:
                for target in fresh:
                    fresh[target] += damping * ranks[node] / nodes
        change = sum(abs(fresh[node] - ranks[node]) for node in fresh)
        ranks = fresh
        if change < tolerance:
            break
    return [ranks[node] for node in range(nodes)]
