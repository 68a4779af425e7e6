"""The site's own pages: home, docs, health, metrics and errors."""
