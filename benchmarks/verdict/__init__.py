"""How the verdict does on clean pairs and on small planted faults, beside other people's rules."""
