"""Long bodies of the journal: packed, stored, deleted and read again."""
