"""How far frontrunner reaches: candidates in one queue, devices in one run."""
