"""Fields that documents have besides their text, as applications send them: typed columns."""
