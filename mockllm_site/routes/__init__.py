"""The routes of the site: what every server has, pages, WebSockets, and light servers."""
