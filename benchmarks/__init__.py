"""Experiments and comparisons beside the package: the only place that computes truth."""
