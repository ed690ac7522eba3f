"""The types that all other packages share: frozen dataclasses, units and errors. Imports nothing of ours."""
