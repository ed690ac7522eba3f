"""The command line: one file per verb. No other package imports it."""
