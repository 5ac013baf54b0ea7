"""Running candidates: compile, verify, measure."""
