"""What people do: each module one kind of act, from a person's input to committed rows or a refusal.

What must stay true: input that can't be taken raises `InputRefused` before anything is written, or undoes all
of it; no network is waited for while a transaction is open; rows are locked in the order post, targets by id,
the rest; every change of scheduling bumps a target's seq and leaves its outbox event.
"""
