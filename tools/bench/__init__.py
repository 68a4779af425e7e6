"""Benchmarks; `python -m tools.bench` prints them."""
