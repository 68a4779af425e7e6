"""Documents and what is compiled from them."""
