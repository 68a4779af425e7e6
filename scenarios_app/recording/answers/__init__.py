"""Recorded answers read back into parts that people can edit: one module a provider's form."""
