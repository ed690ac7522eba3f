"""Reports of an extrapolation."""
