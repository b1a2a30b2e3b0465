"""Figures of rings and arrays. Matplotlib is imported when something is drawn."""
