"""The gate: a latency regression of a kernel, found in virtual time, without hardware.

In the order of the work: `image` and `needs` (what a kernel tells of itself), `kernels` (a name to a kernel that QEMU boots), `boots` (measurements,
some at once), `streams` (a stream to latencies), `judging` (two kernels to a result), `holders` (who holds the time now), `gating` (all of it),
`bisecting` (one step of `git bisect run`).
"""
