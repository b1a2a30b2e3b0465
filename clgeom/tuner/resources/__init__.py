"""Registers, memory and occupancy of kernels on GPUs, from compilers that need no GPU.

`targets` lists the GPUs, `programs` collects the OpenCL C that clgeom builds for one, `compilers` compiles it and reads
what it needs, and `budgets` says how much a kernel may need. ``clgeom kernels check`` prints and records it.
"""
