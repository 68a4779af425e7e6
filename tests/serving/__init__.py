"""The pipeline and its three doors."""
