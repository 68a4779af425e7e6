"""Judges what clients did: pure, out of the requests and answers that the journal has kept."""
