"""Recordings of real traffic: interactions, read from many formats, made into scenarios."""
