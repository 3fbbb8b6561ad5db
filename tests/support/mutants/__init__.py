"""Small faults in built artifacts, and the generated suites that have to notice them."""
