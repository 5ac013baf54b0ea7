"""Malformed invocations of all commands: each is refused in a line, and nothing is written.

    python -m frontrunner.experiments.studies.invocations --seed S --count 200

draws wrong options and values, missing files, folders for files, binary and unreadable files,
contradictions and outputs that are there already, from what the commands themselves declare.
"""
