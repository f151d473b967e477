"""What went wrong in public with other products of this kind: each report a test, named for what is right."""
