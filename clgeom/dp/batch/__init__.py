"""Many tables of one equation in one call."""
