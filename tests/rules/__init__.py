"""The rules by which parity does not lie, each with a test and a test that breaks it."""
