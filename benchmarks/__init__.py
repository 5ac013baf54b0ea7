"""Running candidates: compile, verify, measure. Import from the subpackages."""
