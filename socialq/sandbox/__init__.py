"""The sandbox: a separate program that simulates social platforms, reached over HTTP only.

Platforms are mounted below `/<platform>/`, the control interface below `/_…`, and `/` is a page where a
person sees the posts of the simulated world. It shares nothing with the product but the wire.
"""

from socialq.sandbox.server import serve
from socialq.sandbox.world import SandboxRefused

__all__ = ["SandboxRefused", "serve"]
