"""The tuner of ``clgeom tune``: it finds, for the kernels that take most of a call, the fastest shape on a device.

    cases ──> shares of kernels ──> candidates, tried in child processes ──> races, halved ──> the user's store

- `clgeom.tuner.cases`: the calls that are measured. `clgeom.core.spaces`: the candidates.
- `clgeom.tuner.measure`: what a child process does: run a case with a policy, tell its digest, or its times.
- `clgeom.tuner.children`: child processes with time limits, which may crash or hang.
- `clgeom.tuner.race`: which of several shapes is fastest, from times.
- `clgeom.tuner.search`: all kernels, one after the other, within a time.
"""
