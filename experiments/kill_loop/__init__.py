"""Commands that are ended at random moments, over and over, and go on: nothing is lost or left.

    python -m frontrunner.experiments.kill_loop --rounds 50 --seed S [--commands tune,record]

| module | does |
| --- | --- |
| `tasks` | says which commands, how they go on, and what has to be true of their files |
| `ending` | starts a command, ends it, and finds what is left of it |
| `rounds` | does a round: several ends, then the one that it comes to by itself |
"""
