"""The providers' HTTP APIs: parse requests, render responses and streams."""
