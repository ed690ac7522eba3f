"""Rankings of causes to bytes."""
