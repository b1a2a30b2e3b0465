"""Sorting on the device: a stable radix sort, and Shellsort in all its variants."""
