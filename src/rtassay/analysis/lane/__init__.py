"""The numbers of one lane: its account, distribution, quantiles, exceedances, and their bounds."""
