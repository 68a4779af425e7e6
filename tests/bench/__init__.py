"""What an answer costs, measured; `python -m tests.bench` prints it. Nothing here is a test."""
