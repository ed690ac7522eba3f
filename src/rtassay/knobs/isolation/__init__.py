"""CPUs kept for the application, and how threads are scheduled."""
