"""Experiments: a matrix of runs from a file, in an order, journaled, resumable.

`files` reads and checks an experiment file, `matrix` makes its cells, `directory` and `journal` are what is on disk, `engine` carries
it out, `results` turns findings into experiment.json, `presets` finds the files that come along.
"""
