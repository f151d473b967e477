"""What Meta's platforms have in common: the Graph API's errors, usage headers, tokens, listings and callbacks.

No platform is named in here: what differs between them is a table that its own package hands in.
"""
