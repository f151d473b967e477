"""The page on which a person lets an app act for their accounts, as a browser shows it.

Arrives: an app's request that was checked. Leaves: a form that asks which accounts and what for, or a page that
says why there is nothing to consent to.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.messages import Answer, html_answer

# What the app asked with goes through the form unchanged, so that it is checked again with the decision.
PASSED_ON = (
    "client_id",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
)
# No form-action: a browser would hold it against the redirect to the app too.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
_STYLE = """
:root { color-scheme: light dark; --ground: #f0f2f5; --card: #fff; --ink: #1c1e21; --soft: #606770;
  --line: #dadde1; --mark: #e7f3ff; --go: #0866ff; }
@media (prefers-color-scheme: dark) { :root { --ground: #18191a; --card: #242526; --ink: #e4e6eb;
  --soft: #b0b3b8; --line: #3e4042; --mark: #263951; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 480px; margin: 8vh auto; padding: 28px; background: var(--card);
  border: 1px solid var(--line); border-radius: 12px; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 16px; overflow-wrap: anywhere; }
fieldset { border: 0; padding: 0; margin: 0 0 16px; }
legend { font-size: .9rem; font-weight: 600; color: var(--soft); padding: 0; margin: 0 0 6px; }
label { display: flex; gap: 10px; align-items: baseline; padding: 9px 12px; margin-bottom: 6px;
  border: 1px solid var(--line); border-radius: 8px; cursor: pointer; overflow-wrap: anywhere; }
label:has(:checked) { background: var(--mark); }
label span { color: var(--soft); }
button { width: 100%; padding: 11px; margin-top: 8px; border-radius: 8px; font: inherit; font-weight: 600;
  border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.go { background: var(--go); color: #fff; border-color: var(--go); }
p { margin: 0; color: var(--soft); }
@media (max-width: 520px) { main { margin: 0; min-height: 100vh; border: 0; border-radius: 0; } }
"""


def consent_page(
    asked: Mapping[str, Any],
    accounts: Sequence[Account],
    *,
    label: str,
    app_name: str,
    scopes: Sequence[str],
    takes_many: bool,
) -> Answer:
    """200 with the form: `account[]` (several with `takes_many`), `without[]` (scopes), and `decision`."""
    passed_on = "".join(
        f'<input type="hidden" name="{name}" value="{escape(str(asked[name]))}">'
        for name in PASSED_ON
        if name in asked
    )
    return _page(
        f"Log in with {label}",
        label,
        f"<h1><bdi>{escape(app_name)}</bdi> wants to publish for you on {escape(label)}</h1>"
        f'<form method="post">{passed_on}{_choices(accounts, label, takes_many=takes_many)}'
        f"{_permissions(scopes)}{_buttons(accounts)}</form>",
    )


def refusal_page(label: str, reason: str) -> Answer:
    """400: an app's mistake, told to the person because it can't be told to the app."""
    return _page(
        "Sorry, something went wrong", label, f"<h1>Feature unavailable</h1><p>{escape(reason)}</p>", 400
    )


def _choices(accounts: Sequence[Account], label: str, *, takes_many: bool) -> str:
    if not accounts:
        return f"<p>There is no account on this simulated {escape(label)} yet.</p>"
    kind = 'type="checkbox" checked' if takes_many else 'type="radio" required'
    rows = "".join(
        f'<label><input {kind} name="account[]" value="{escape(account.name)}"'
        f"{' checked' if index == 0 and not takes_many else ''}><bdi>{escape(account.display_name)}</bdi>"
        f"<span>{escape(account.name)}</span></label>"
        for index, account in enumerate(sorted(accounts, key=lambda one: one.name))
    )
    return f"<fieldset><legend>What do you want to use?</legend>{rows}</fieldset>"


def _permissions(scopes: Sequence[str]) -> str:
    """A person may leave any of them out: Meta's dialog allows it, and apps must notice."""
    if not scopes:
        return ""
    rows = "".join(
        f'<label><input type="checkbox" name="without[]" value="{escape(scope)}">'
        f"<span>{escape(scope)}</span></label>"
        for scope in scopes
    )
    return f"<fieldset><legend>The app asks for all of these. Leave any out?</legend>{rows}</fieldset>"


def _buttons(accounts: Sequence[Account]) -> str:
    go = '<button class="go" name="decision" value="authorize">Continue</button>' if accounts else ""
    return f'{go}<button name="decision" value="cancel" formnovalidate>Cancel</button>'


def _page(title: str, label: str, content: str, status: int = 200) -> Answer:
    answer = html_answer(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title} · simulated {escape(label)}</title><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main>{content}</main></body></html>\n",
        status=status,
    )
    answer.headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return answer
