"""Weights: which tensor of one model is which of another, brought over and proved; and files."""
