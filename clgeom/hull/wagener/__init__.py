"""Hoods of sorted points: Wagener's match and merge, as published and work-optimal."""
