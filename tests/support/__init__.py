"""Helpers of the suite: servers, databases, clocks, processes and Hypothesis strategies."""
