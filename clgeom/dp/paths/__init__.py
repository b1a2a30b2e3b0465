"""The ways to fill a table, a module each, and what they share."""
