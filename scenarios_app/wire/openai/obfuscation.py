"""The field by which OpenAI's deltas hide how long their text is: it fills each up."""

SIZE = 16
_LETTERS = "kT3vQxZ8mYw1Lr5D"
# By the length of a text, cut at the size: what fills it up, as JSON that goes on with an object.
OBFUSCATION = tuple(
    b',"obfuscation":"%b"' % _LETTERS[: SIZE - length].encode() for length in range(SIZE)
)
