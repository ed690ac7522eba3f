"""What everything else speaks in: frozen dataclasses, units and errors. Imports nothing of ours."""
