"""Tests of `mockllm torture`."""
