"""What a change costs that is made often: a folder and a line, a class, a row, a line."""
