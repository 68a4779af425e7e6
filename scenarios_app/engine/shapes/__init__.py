"""What untrusted JSON must be: strict models, their leaf fields, and errors that say where."""
