"""What is known of an equation before a fill: dependences, bounds, patterns, work."""
