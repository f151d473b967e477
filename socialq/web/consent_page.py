"""`/oauth/callback/<platform>`: where a platform sends a person back to, and where they pick their channels.

Nobody is asked to log in: the state that the platform brings back, and then the word in the form, are secrets
that work once and for minutes, and only whoever began has them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from flask import Blueprint, render_template, request

from socialq.domain.errors import InputRefused

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from socialq.desk.connect import Account
    from socialq.wiring import Wiring

_ACTOR: Final = "web"


def build(wiring: Wiring) -> Blueprint:
    """Build the two pages."""
    pages = Blueprint("consent", __name__)

    @pages.get("/oauth/callback/<platform>")
    def callback(platform: str) -> ResponseReturnValue:
        """Take the code, and show what it leads to; a single channel is connected at once."""
        try:
            offer = wiring.consent_desk.finish(
                platform=platform,
                state=request.args.get("state", ""),
                code=request.args.get("code"),
                error=request.args.get("error"),
                now=datetime.now(UTC),
            )
            if len(offer.choices) > 1:
                return render_template("channels.html", offer=offer)
            only = [choice.remote_user_id for choice in offer.choices]
            return _connected(wiring.consent_desk.pick(pick=offer.pick, remote_user_ids=only, actor=_ACTOR))
        except InputRefused as refused:
            return _refused(refused)

    @pages.post("/oauth/channels")
    def channels() -> ResponseReturnValue:
        """Connect what was picked."""
        try:
            made = wiring.consent_desk.pick(
                pick=request.form.get("pick", ""),
                remote_user_ids=request.form.getlist("channel"),
                actor=_ACTOR,
            )
        except InputRefused as refused:
            return _refused(refused)
        return _connected(made)

    return pages


def _connected(made: list[Account]) -> str:
    names = ", ".join(account.name for account in made)
    return render_template("message.html", title="Connected", message=f"{names}. You can close this window.")


def _refused(refused: InputRefused) -> tuple[str, int]:
    words = "; ".join(f"{problem.problem}: {problem.way_out}" for problem in refused.problems)
    return render_template(
        "message.html", title="Not connected", message=f"{words[:1].upper()}{words[1:]}."
    ), 400
