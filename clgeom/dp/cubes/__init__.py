"""Tables with three indices, filled plane after plane."""
