"""Equations: Python functions and C texts, their nodes, types and parameters."""
