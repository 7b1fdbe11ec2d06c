"""Models with the interfaces that people give them, each in two or three frameworks."""
