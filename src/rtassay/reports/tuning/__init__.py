"""Words about settings that are changed."""
