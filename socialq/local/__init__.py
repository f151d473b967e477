"""PostgreSQL and Valkey for one machine: brought along as wheels, supervised by this package.

Arrives: a home folder. Leaves: two running servers and their URLs. What must stay true: data survives every
way of ending; nothing listens beyond 127.0.0.1; the folders of the user keep their permissions.
"""

from socialq.local.dev_keys import development_settings
from socialq.local.process import Server
from socialq.local.servers import LocalServers
from socialq.local.unavailable import LocalServersUnavailable

__all__ = ["LocalServers", "LocalServersUnavailable", "Server", "development_settings"]
