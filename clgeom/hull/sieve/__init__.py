"""The hull at the speed of one read: a sample of the points, a sieve made of it, hulls of what it leaves."""
