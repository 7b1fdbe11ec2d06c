"""What parity costs and how often it is right, measured by commands that anyone can run again."""
