"""Links between parts, with dictionaries: what each node receives from nodes of other parts."""


def received_shares(links, part_of, host_of, shares, near):
    """Return the sum of the shares that (source, target) links bring; within a host they weigh `near`."""
    sums = {}
    for source, target in links:
        if part_of(source) != part_of(target):
            weight = near if host_of(source) == host_of(target) else 1.0
            sums[target] = sums.get(target, 0.0) + weight * shares[source]
    return sums
