"""Pairs of sequences: alignments."""
