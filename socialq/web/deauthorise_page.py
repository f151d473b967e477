"""Where a platform says that a person took their consent back, or wants their data deleted.

`POST /oauth/deauthorise/<client id>` and `POST /oauth/deletion/<client id>` are entered at the platform, with the
application's own id; `/oauth/deletions/<code>` is where the person sees that it was done. There is no login and no
word against forgery from another site: the platform signs each request with the application's secret.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, jsonify, render_template, request

from socialq.desk import deauthorise

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    from socialq.wiring import Wiring


def build(wiring: Wiring) -> Blueprint:
    """Build the two callbacks and the page."""
    pages = Blueprint("deauthorise", __name__)

    @pages.post("/oauth/deauthorise/<client_id>")
    def withdrawn(client_id: str) -> ResponseReturnValue:
        """Mark what the person has granted."""
        count = deauthorise.deauthorise(
            wiring.stores, wiring.vault, client_id=client_id, signed=request.form.get("signed_request", "")
        )
        return _forged() if count is None else jsonify(accounts=count)

    @pages.post("/oauth/deletion/<client_id>")
    def deletion(client_id: str) -> ResponseReturnValue:
        """Delete what is known of the person, and say where they can see it: in the form that is asked for."""
        done = deauthorise.delete_data(
            wiring.stores, wiring.vault, client_id=client_id, signed=request.form.get("signed_request", "")
        )
        if done is None:
            return _forged()
        root = wiring.settings.public_url.rstrip("/") or request.host_url.rstrip("/")
        return jsonify(url=f"{root}/oauth/deletions/{done.code}", confirmation_code=done.code)

    @pages.get("/oauth/deletions/<code>")
    def deletions(code: str) -> ResponseReturnValue:
        """Show that a deletion was done."""
        found = deauthorise.deletion(wiring.stores, code)
        if found is None:
            message = "No deletion is known by this code: check the address that the platform shows."
            return render_template("message.html", title="Not found", message=message), 404
        accounts = "1 account was" if found.accounts == 1 else f"{found.accounts} accounts were"
        message = (
            f"Your access tokens, your display name and your id were deleted on {found.done_at:%Y-%m-%d at %H:%M} "
            f"UTC: {accounts} concerned. Posts that an agency has published belong to it, and stay where they are, "
            "and so does the account's handle, by which they are listed."
        )
        return render_template("message.html", title="Deleted", message=message)

    return pages


def _forged() -> ResponseReturnValue:
    return jsonify(error="The request is not signed by the application's secret."), 400
