"""The transports of the pipeline."""
