"""What the apps share: it imports none of them."""
