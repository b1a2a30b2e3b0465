"""Convex hulls and what they are made of: exact predicates, the heaphull filter, the monotone chain."""
