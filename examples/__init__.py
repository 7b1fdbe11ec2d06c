"""Models to try parity on, written as users write them."""
