"""One module per command: those of the process, of the chat and of traces."""
