"""The test suite; its folders correspond to those of the code."""
