"""Tools of OpenAI's APIs: where requests offer them, and the calls of custom ones."""
