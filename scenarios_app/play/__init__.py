"""Plays conversations against scenarios and compares expected with actual responses."""
