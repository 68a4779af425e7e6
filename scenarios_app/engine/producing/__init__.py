"""From a step and a request to the parts of an answer, each with its time."""
