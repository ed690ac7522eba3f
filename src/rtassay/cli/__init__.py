"""The command line: one file per verb, in the order of the work. Nobody imports it."""
