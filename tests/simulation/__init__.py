"""A seeded simulation of the hops: the real state code behind its ports, on a simulated world.

Real: `socialq.domain`, `socialq.pipeline` and the moves of `socialq.desk`. Simulated: clock, cell, dispatch
index, queue, platforms, and when each process runs, stands still or dies. A seed decides everything, so a failure
is seen again with `python -m tests.simulation --seed N --trace`.
"""
