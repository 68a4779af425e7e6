"""A provider, condition, fault or column is added by one class or row, without other changes."""
