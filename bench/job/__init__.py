"""Data and queries like those of the Join Order Benchmark."""
