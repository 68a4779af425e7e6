"""`mockllm torture`: repeats a command with one fault at one answer at a time, and says how it took
each. The package imports no Django, whose settings may be the command's own."""

OPTION = "--mockllm-torture"
