"""Attacks on a server, with figures and goals: `make load`."""
