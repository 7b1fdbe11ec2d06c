"""How far two arrays are apart, and how much of that rounding can be."""
