"""`mockllm torture` and `mockllm mutants`: repeat a command with one change of an answer at a time,
and say how it, or its tests, took each. The package imports no Django, whose settings may be the
command's own."""
