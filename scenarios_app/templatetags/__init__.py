"""Template tags of this app's pages."""
