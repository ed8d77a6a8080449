"""Links between parts, with dictionaries: what each node is given by nodes of other parts."""


def given(links, part_of, host_of, shares, near):
    """Add up the shares that (source, target) links bring from other parts; links within a host bring `near` of it."""
    sums = {}
    for source, target in links:
        if part_of(source) != part_of(target):
            weight = near if host_of(source) == host_of(target) else 1.0
            sums[target] = sums.get(target, 0.0) + weight * shares[source]
    return sums
