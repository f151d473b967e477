"""What keeps socialq healthy: refreshing tokens, rotating keys, pruning, checking."""
