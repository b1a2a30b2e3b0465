"""What a caller hands over: arguments, arrays of the host and of devices, objects of other packages, chunks."""
