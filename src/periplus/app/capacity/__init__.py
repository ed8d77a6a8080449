"""Capacity planning: machines, memory, disk, bandwidth and time for a web of a given size.

In: a `Workload` (pages, queries per second, change per day) and a `Machine`. Out: a `CapacityPlan`, computed from
coefficients that programs in `bench/` measured; `coefficients.json` has each with its file, field, date and value.
"""
