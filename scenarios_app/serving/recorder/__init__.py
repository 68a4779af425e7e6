"""Recording: requests passed on to the real provider, and what came back kept."""
