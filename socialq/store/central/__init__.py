"""Tables of the central database."""
