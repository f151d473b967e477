"""Alarms that read the schedule, not the jobs, and whoever tells of them.

`rules` is the table of what is looked for, a small function each; `watch` looks, keeps the alarms' rows in step, and
sends what nobody was told; `process` does so in a process of its own. Beat ticks the same watch once a minute, and the
web answers with it when it is asked: none of them needs another.
"""
