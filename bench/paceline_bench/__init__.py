"""Benchmarks of Paceline beside its peers; never shipped."""
