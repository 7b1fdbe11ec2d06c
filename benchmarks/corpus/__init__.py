"""Pairs of models that tests and benchmarks compare: planted faults and what is right."""
