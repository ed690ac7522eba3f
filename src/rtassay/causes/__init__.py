"""Why a wake-up was late: the kernel's trace of it, decoded, and an owner for each nanosecond.

Pure functions, without files, clock or printing. In the order of the data: `formats` (texts of tracefs to field layouts),
`pages` (ring-buffer pages to events), `timeline` (events of a CPU to who ran when), `wakeups` (where a hit's phases begin),
`ordinary` (how long an undisturbed wake-up takes), `owners` (the rules), `places` (functions, by stacks), `stalls` (what stopped the whole machine),
`attribution` (a trace to attributions), `removing` (latencies without a cause), `ranking` (causes of whole runs).
"""
