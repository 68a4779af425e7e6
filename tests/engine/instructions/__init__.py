"""Instruction blocks."""
