"""Backends of the compiler; `frontrunner.search.known_backends()` finds them.

Each says what its subpackage has to offer, and imports that when that is asked for.
"""
