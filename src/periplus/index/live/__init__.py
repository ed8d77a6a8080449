"""An index that takes documents while it is searched."""
