"""How a model takes its inputs: as arguments, in containers, in a layout, through stages."""
