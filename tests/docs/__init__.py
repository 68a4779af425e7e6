"""The README and docs/, read by somebody who does what they say."""
