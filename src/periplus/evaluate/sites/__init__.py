"""Metrics of a federation of sites (COAST, section 5): records of sites in, figures and a report out.

`evaluate_records` computes them from the metric logs of running sites; the simulations yield the same records from a
web graph on a map and from judged collections with regional interests. Each formula is a function of its own, with the
section of the paper in its docstring.
"""
