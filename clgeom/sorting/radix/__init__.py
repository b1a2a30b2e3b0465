"""The radix sort: keys, pairs and segments."""
