"""Lists of scenarios and drafts, and actions on several of them."""
