"""Models with rich interfaces, carried over and compared as they are, without a line of glue."""
