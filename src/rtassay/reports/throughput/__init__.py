"""Reports of throughput, and of the latency it buys."""
