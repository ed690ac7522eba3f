"""The only place with an order: check, inventory, monitors, load, warm-up, probe, collect, seal."""
