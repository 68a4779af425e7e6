"""What is known of requests that come again, and answers that are made once."""
