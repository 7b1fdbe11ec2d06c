"""Where two tapes part, found from what matched and proved by repair."""
