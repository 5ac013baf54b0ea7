"""Backends of the compiler; `frontrunner.search.known_backends()` finds them.

Each says what its room has to offer, and imports the room when that is asked for.
"""
