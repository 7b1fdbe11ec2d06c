"""Which value of one tape is which value of the other: by their numbers, in any order of axes."""
