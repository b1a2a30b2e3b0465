"""The mechanism that all algorithms share: devices, memory, builds, plans, launches and policies."""
