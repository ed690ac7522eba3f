"""Reports about the settings of a board."""
