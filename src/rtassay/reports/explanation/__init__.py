"""Why threads of a user's program ran late."""
