"""Runs `mockllm mutants` on the tests of projects that are not ours."""
