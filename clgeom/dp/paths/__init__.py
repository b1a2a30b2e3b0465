"""Paths: the algorithms that fill a table, a module each."""
