"""From a conversation to what a model is sent: pure."""
