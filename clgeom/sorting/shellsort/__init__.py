"""Shellsort 0 and A to F as published, and "auto", which sorts faster."""
