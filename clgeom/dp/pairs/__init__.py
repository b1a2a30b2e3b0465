"""Many pairs of sequences in one call: edit distances, and lengths of longest common subsequences."""
