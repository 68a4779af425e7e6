"""The doors of the pipeline."""
