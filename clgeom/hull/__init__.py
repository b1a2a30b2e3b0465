"""Convex hulls and their parts: exact predicates, the heaphull filter, lexicographic order, Wagener's merge."""
