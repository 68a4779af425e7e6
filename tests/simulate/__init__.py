"""Tests of scripted users: `mockllm simulate`, its agents, and `mockllm.simulate` in tests."""
