"""Sorts of files that do not fit in memory: runs on disk, merged in blocks."""
