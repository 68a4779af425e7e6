"""Lists of scenarios and drafts, and what is done to many."""
