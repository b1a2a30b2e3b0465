"""Files and the terminal: points in, results out."""
