"""Test mode through the pipeline."""
