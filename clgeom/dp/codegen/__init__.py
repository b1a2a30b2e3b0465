"""OpenCL C of equations, as a whole and in the forms that the paths need."""
