"""Pairwise alignment of sequences with affine gaps: scores, ends, and whole alignments."""
