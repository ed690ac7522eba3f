"""Memory and caches."""
