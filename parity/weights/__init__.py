"""Weights: which tensor of one model is which of another, brought over and proved; files of them."""
