"""The site's own pages: home, health, figures, and what errors look like."""
