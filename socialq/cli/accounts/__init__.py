"""`socialq account`: channels of a brand, connected by consent, by password, by token, or in the sandbox."""
