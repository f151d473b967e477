"""The page on which a person lets an app act for an account, as a browser shows it.

Arrives: an app's request that was checked. Leaves: a form that asks which account, or a page that says why
there is nothing to consent to.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.messages import Answer, html_answer

# What the app asked with goes through the form unchanged, so that it is checked again with the decision.
PASSED_ON = (
    "response_type",
    "client_id",
    "redirect_uri",
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
:root { color-scheme: light dark; --ground: #eff3f5; --card: #fff; --ink: #17191f; --soft: #606984;
  --line: #d9e1e8; --mark: #e8e6ff; --go: #6364ff; }
@media (prefers-color-scheme: dark) { :root { --ground: #17191f; --card: #282c37; --ink: #fff; --soft: #9baec8;
  --line: #393f4f; --mark: #3a3a6b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 440px; margin: 8vh auto; padding: 28px; background: var(--card); border-radius: 8px; }
h1 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 16px; overflow-wrap: anywhere; }
fieldset { border: 0; padding: 0; margin: 0 0 16px; }
legend, h2 { font-size: .9rem; font-weight: 600; color: var(--soft); padding: 0; margin: 0 0 6px; }
label { display: flex; gap: 10px; align-items: baseline; padding: 9px 12px; margin-bottom: 6px;
  border: 1px solid var(--line); border-radius: 6px; cursor: pointer; overflow-wrap: anywhere; }
label:has(:checked) { background: var(--mark); }
label span, p { color: var(--soft); margin: 0; }
ul { margin: 0 0 20px; padding-left: 20px; }
button { width: 100%; padding: 11px; margin-top: 8px; border-radius: 6px; font: inherit; font-weight: 600;
  border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.go { background: var(--go); color: #fff; border-color: var(--go); }
@media (max-width: 480px) { main { margin: 0; min-height: 100vh; border-radius: 0; } }
"""


def consent_page(
    asked: Mapping[str, Any], accounts: Sequence[Account], *, app_name: str, scopes: Sequence[str]
) -> Answer:
    """200 with the form; its `decision` is `authorize` or `deny`."""
    passed_on = "".join(
        f'<input type="hidden" name="{name}" value="{escape(str(asked[name]))}">'
        for name in PASSED_ON
        if name in asked
    )
    meanings = "".join(f"<li><code>{escape(scope)}</code></li>" for scope in scopes)
    return _page(
        "Authorization required",
        f"<h1><bdi>{escape(app_name)}</bdi> would like permission to access your account</h1>"
        f'<form method="post" action="authorize">{passed_on}{_choices(accounts)}'
        f"<h2>Review permissions</h2><ul>{meanings}</ul>{_buttons(accounts)}</form>",
    )


def refusal_page(reason: str) -> Answer:
    """400: an app's mistake, told to the person because it can't be told to the app."""
    return _page("Error", f"<h1>An error has occurred</h1><p>{escape(reason)}</p>", status=400)


def code_page(code: str) -> Answer:
    """200 with the code to copy, for an app without an address of its own."""
    return _page(
        "Authorization code", f"<h1>Copy this code to the app</h1><p><code>{escape(code)}</code></p>"
    )


def _choices(accounts: Sequence[Account]) -> str:
    if not accounts:
        return "<p>There is no account on this simulated server yet.</p>"
    rows = "".join(
        f'<label><input type="radio" name="account" value="{escape(account.name)}"'
        f"{' checked' if index == 0 else ''} required><bdi>{escape(account.display_name)}</bdi>"
        f"<span>@{escape(account.name)}</span></label>"
        for index, account in enumerate(sorted(accounts, key=lambda one: one.name))
    )
    return f"<fieldset><legend>Signed in as</legend>{rows}</fieldset>"


def _buttons(accounts: Sequence[Account]) -> str:
    go = '<button class="go" name="decision" value="authorize">Authorize</button>' if accounts else ""
    return f'{go}<button name="decision" value="deny" formnovalidate>Deny</button>'


def _page(title: str, content: str, *, status: int = 200) -> Answer:
    answer = html_answer(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title} · simulated Mastodon</title><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main>{content}</main></body></html>\n",
        status=status,
    )
    answer.headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return answer
