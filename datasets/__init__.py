"""Workloads beside the package: loaders, generators, policies and queries."""
