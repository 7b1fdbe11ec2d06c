"""Files that are written whole or not at all, whatever happens to their writers."""
