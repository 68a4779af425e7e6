"""The suite, laid out as the code is."""
