"""Chaos: real processes under a plan of faults, and at the end the simulated platforms' ledger as the judge.

`plan` makes the plan from a seed, `cast` sets the stage, `disturbing` and `people` carry the plan out, `verdict`
compares. `python -m benchmarks.chaos --targets 2000 --seconds 90 --seed 7 --json` runs it.
"""
