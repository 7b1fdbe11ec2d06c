"""Which value of one tape is which value of the other: by their contents, in any order of axes."""
