"""What models are sent."""
