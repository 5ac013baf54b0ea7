"""MLIR that is no text."""

# What it begins with.
BYTECODE = b"ML\xefR"
