"""Tables of a cell. Every function takes a session whose tenant is set (or a machine session)."""
