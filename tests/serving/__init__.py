"""The pipeline and its transports."""
