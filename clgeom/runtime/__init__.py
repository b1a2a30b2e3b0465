"""The basis of every algorithm: devices, arrays, work-group policies, kernel sources, builds and launches."""
