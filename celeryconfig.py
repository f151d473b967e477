"""Celery's configuration, as data. What differs from place to place comes from the settings (`SOCIALQ_…`).

Redis carries only what PostgreSQL can replace: a message is a hint, acknowledged early, never retried by
Celery, never delayed by an ETA. Each choice has its reason in `docs/decisions/0003-celery-settings.md`.
"""

from kombu import Exchange, Queue

import beat_schedule as ticks

_EXCHANGE = Exchange("socialq", type="direct", durable=True)

task_queues = tuple(
    Queue(name, _EXCHANGE, routing_key=name, durable=True) for name in ("control", "publishing", "preparing")
)
task_default_queue = "control"
task_default_exchange = "socialq"
task_default_routing_key = "control"
task_create_missing_queues = False
task_routes = {
    "socialq.publish_target": {"queue": "publishing", "routing_key": "publishing"},
    "socialq.prepare_target": {"queue": "preparing", "routing_key": "preparing"},
    "socialq.*": {"queue": "control", "routing_key": "control"},
}

task_serializer = "json"
accept_content = ("json",)
task_ignore_result = True
result_expires = None  # beat would tick the cleaning of results, and there are none
task_store_errors_even_if_ignored = False
enable_utc = True
timezone = "UTC"

# Early acknowledgement: recovery comes from the database, a redelivery only asks it again.
task_acks_late = False
task_reject_on_worker_lost = False
worker_prefetch_multiplier = 1  # `socialq.worker.prefetch` lowers it further
# After a lost connection Celery would lower the limit by what is under way, and raise it to the full one later.
worker_enable_prefetch_count_reduction = False
worker_pool = "threads"
worker_cancel_long_running_tasks_on_connection_loss = False

# Flower shows nothing without these; message arguments hold ids only.
worker_send_task_events = True
task_send_sent_event = True

# A stopping worker claims nothing more; what is under way gets `SOCIALQ_DRAIN_SECONDS`.
worker_soft_shutdown_timeout = 45.0
worker_enable_soft_shutdown_on_idle = False
worker_hijack_root_logger = False
worker_redirect_stdouts = False

# A stalled Redis must hang nothing: sockets time out, and what enqueues puts its rows back.
broker_connection_retry_on_startup = True
broker_connection_max_retries = None
broker_connection_timeout = 4.0
broker_pool_limit = 10
broker_transport_options = {
    "global_keyprefix": "socialq:",
    "socket_timeout": 5.0,
    "socket_connect_timeout": 2.0,
    "socket_keepalive": True,
    "retry_on_timeout": False,
    # No book in Redis of what is under way: the database keeps that, and each entry cost two round trips.
    "ack_emulation": False,
}
task_publish_retry = False
event_queue_prefix = "socialq-events"
control_exchange = "socialq-control"
# Only questions are answered: `socialq up` asks who is there, `demo` what is under way. Orders, such as `shutdown`,
# need no more than a line in Redis, so workers know none (`socialq.worker.remote_control`); Flower shows the events.
worker_enable_remote_control = True

beat_schedule = ticks.beat_schedule
# Goes on ticking when the machine's clock is set.
beat_scheduler = "socialq.worker.steady_beat:SteadyScheduler"
beat_max_loop_interval = 5
