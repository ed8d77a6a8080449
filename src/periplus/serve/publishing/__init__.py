"""Publishing for people: the form, and published content with its metadata."""
