"""Running candidates: compile, verify, measure. Each room has a face of its own."""
