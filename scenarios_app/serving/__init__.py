"""One pipeline that answers provider requests, and the doors to it."""
