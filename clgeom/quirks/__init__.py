"""Special cases for OpenCL drivers: every one of them, and nothing else."""
