"""What every algorithm stands on: devices, arrays, work-group policies, kernel sources, builds and launches."""
