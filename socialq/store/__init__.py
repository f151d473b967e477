"""All SQL of socialq, in the module named for its table. Functions take a session and never commit."""
