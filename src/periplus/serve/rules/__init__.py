"""Rules of people and of the server: pages to write and share them, and their API."""
