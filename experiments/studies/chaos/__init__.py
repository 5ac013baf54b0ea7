"""Runs that meet faults of all kinds, alone and on a cluster, and go on: nothing is lost or left.

    python -m frontrunner.experiments.studies.chaos --faults 60 --seed S [--kinds a,b]

| module | does |
| --- | --- |
| `faults` | the kinds of faults: what each does to a run that is on its way |
| `rounds` | starts a session of a run, has a fault strike it, resumes it and checks it |
| `cluster` | a scheduler and workers, each in a folder of its own, and what brings them back |
| `proxy` | a TCP connection that can be cut, or be silent in one direction |
| `disks` | a small disk for a folder, which can be full |
| `kernels` | kernels that hang or crash |
| `command` | `frontrunner` as it is started here: its clock may jump, its answers be wrong |
"""
