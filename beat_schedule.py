"""What beat ticks. Every tick is idempotent: any number of beats is harmless.

The relay and dispatch ticks become windows that watch for up to a minute; further ticks leave at once
(`socialq.pipeline.window`). A tick is left out while an older one of its name waits (`socialq.worker.steady_beat`):
none has an `expires`, which would be read by another machine's clock.
"""

beat_schedule = {
    "relay": {"task": "socialq.relay_tick", "schedule": 5.0},
    "dispatch": {"task": "socialq.dispatch_window", "schedule": 5.0},
    "sweep": {"task": "socialq.sweep", "schedule": 5.0},
    "audit": {"task": "socialq.audit", "schedule": 60.0},
    "vacuum_check": {"task": "socialq.vacuum_check", "schedule": 60.0},
    "deliver": {"task": "socialq.deliver", "schedule": 5.0},
    "watch": {"task": "socialq.watch", "schedule": 60.0},
    "token_upkeep": {"task": "socialq.token_upkeep", "schedule": 300.0},
    "permalinks": {"task": "socialq.permalinks", "schedule": 60.0},
    "prune": {"task": "socialq.prune", "schedule": 900.0},
}
