"""Tests in new processes, without the imports of the test process."""
