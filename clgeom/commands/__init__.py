"""The command line: a module for each command, and one for terminal output."""
