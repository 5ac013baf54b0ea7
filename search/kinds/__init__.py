"""Kinds of ops, a module each; `frontrunner.search.known_kinds()` finds them."""
