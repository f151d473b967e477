"""What follows publication, each on its own: events by consumer, webhooks by delivery.

`events` lets each consumer read a cell's events at its own pace; `webhooks` tells whoever asked to be told. What one of
them comes to changes nothing of a target, and delays no other.
"""
