"""Ratchets on the wording and the size of the code: their counts may fall, but never rise."""
