"""Kinds of ops: each module ends in `KIND = ...`, and `known_kinds()` imports them all."""
