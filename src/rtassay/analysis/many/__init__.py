"""Several recordings: repeats of one condition, comparisons, experiments, and published results beside ours."""
