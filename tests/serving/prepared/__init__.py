"""Turn scripts through the pipeline."""
