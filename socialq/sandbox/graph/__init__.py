"""What the simulated platforms of Meta have in common: errors, tokens, consent, usage headers, fetched files.

No platform is named in here: what differs between them is handed in. `platform.py` is the base of all of them.
"""
