"""What beat ticks. Every tick is idempotent: any number of beats is harmless.

The relay and dispatch ticks become windows that watch for up to a minute; further ticks leave at once
(`socialq.pipeline.window`). A tick that nobody took in time is dropped: the next one does its work.
"""

beat_schedule = {
    "relay": {"task": "socialq.relay_tick", "schedule": 5.0, "options": {"expires": 10}},
    "dispatch": {"task": "socialq.dispatch_window", "schedule": 5.0, "options": {"expires": 10}},
    "sweep": {"task": "socialq.sweep", "schedule": 5.0, "options": {"expires": 10}},
    "audit": {"task": "socialq.audit", "schedule": 60.0, "options": {"expires": 60}},
    "vacuum_check": {"task": "socialq.vacuum_check", "schedule": 60.0, "options": {"expires": 60}},
    "deliver": {"task": "socialq.deliver", "schedule": 5.0, "options": {"expires": 10}},
    "watch": {"task": "socialq.watch", "schedule": 60.0, "options": {"expires": 60}},
    "token_upkeep": {"task": "socialq.token_upkeep", "schedule": 300.0, "options": {"expires": 300}},
    "permalinks": {"task": "socialq.permalinks", "schedule": 60.0, "options": {"expires": 60}},
    "prune": {"task": "socialq.prune", "schedule": 900.0, "options": {"expires": 900}},
}
