"""What the simulated platforms have in common that publish in two steps: a container first, then its id.

No platform is named in here: words, limits and refusals that differ are handed in. `platform.py` is the base.
"""
