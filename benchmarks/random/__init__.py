"""Pairs of models that draw random numbers, right ones and wrong ones, and what is said of them."""
