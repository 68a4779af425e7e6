"""What QA edits in the admin."""
