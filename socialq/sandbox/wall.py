"""The wall: a page where a person sees the simulated world as a visitor of all its platforms would.

Arrives: GET requests outside the mounts, `?platform=`, `?account=`, `?limit=` (threads). Leaves: a page
rendered here, its style and script, and stored media. The script asks again every few seconds; what has
not changed is answered 304.
"""

import mimetypes
import re
import secrets
from collections.abc import Mapping

from socialq.sandbox.messages import Answer, Request, html_answer
from socialq.sandbox.platform import Platform
from socialq.sandbox.wall_page import Filters, Sight, render_page
from socialq.sandbox.wall_style import SCRIPT, STYLE
from socialq.sandbox.wall_threads import arrange
from socialq.sandbox.world import World

DEFAULT_THREADS = 100
_MEDIA_NAME = re.compile(r"/media/([a-z_]+-\d+\.[a-z0-9]+)")
_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; "
    "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Wall:
    """Answers `/`, `/wall.css`, `/wall.js` and `/media/…`."""

    def __init__(self, world: World, platforms: Mapping[str, Platform]) -> None:
        self._world = world
        self._labels = {name: platform.label for name, platform in platforms.items()}
        # A version counts from zero at every start; the nonce keeps two runs' versions apart.
        self._run = secrets.token_hex(4)

    def reply(self, request: Request) -> Answer:
        if request.method not in {"GET", "HEAD"}:
            return _plain("Only GET is offered here", 405)
        if request.path == "/":
            return self._page(request)
        if request.path == "/wall.css":
            return Answer(200, STYLE.encode(), "text/css; charset=utf-8")
        if request.path == "/wall.js":
            return Answer(200, SCRIPT.encode(), "text/javascript; charset=utf-8")
        if match := _MEDIA_NAME.fullmatch(request.path):
            return self._media(match[1])
        return _plain("There is nothing here", 404)

    def _page(self, request: Request) -> Answer:
        version = f'"{self._run}-{self._world.ledger.version}-{len(self._world.accounts.all())}"'
        if request.headers.get("if-none-match") == version:
            return Answer(304)
        limit = str(request.query.get("limit", ""))
        filters = Filters(
            platform=request.query.get("platform") or None,
            account=request.query.get("account") or None,
            limit=int(limit) if limit.isdecimal() and int(limit) else DEFAULT_THREADS,
        )
        chosen = self._world.ledger.posts(filters.platform, filters.account)
        threads, hidden = arrange(chosen, limit=filters.limit)
        page = render_page(
            Sight(
                filters=filters,
                threads=threads,
                hidden_threads=hidden,
                posts=self._world.ledger.posts(),
                accounts=self._world.accounts.all(),
                labels=self._labels,
                version=version,
            )
        )
        answer = html_answer(page)
        answer.headers = {"ETag": version, "Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
        return answer

    def _media(self, name: str) -> Answer:
        path = self._world.media_dir / name
        if not path.is_file():
            return _plain("There is nothing here", 404)
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=86400"}
        return Answer(200, content_type=mime, headers=headers, file=path)


def _plain(text: str, status: int) -> Answer:
    return Answer(status, f"{text}\n".encode(), "text/plain; charset=utf-8")
