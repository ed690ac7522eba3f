"""Reports about what the gate found."""
