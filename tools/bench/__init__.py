"""What an answer costs, measured; `python -m tools.bench` prints it. Nothing here is a test."""
