"""JSON Schemas that requests bring along, and values that fit them."""
