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
MEANINGS = {
    "tweet.read": "See all posts that you can see.",
    "tweet.write": "Post and delete for you.",
    "users.read": "See any account that you can see.",
    "media.write": "Upload media for you.",
    "offline.access": "Stay connected until you revoke access.",
}
# No form-action: a browser would hold it against the redirect to the app too.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
_STYLE = """
:root { color-scheme: light dark; --ground: #f3f4f7; --card: #fff; --ink: #0f1419; --soft: #536471;
  --line: #dfe3e8; --mark: #eff3f4; }
@media (prefers-color-scheme: dark) { :root { --ground: #000; --card: #16181c; --ink: #e7e9ea;
  --soft: #8b98a5; --line: #2f3336; --mark: #202327; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 480px; margin: 8vh auto; padding: 28px; background: var(--card);
  border: 1px solid var(--line); border-radius: 16px; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 16px; overflow-wrap: anywhere; }
fieldset { border: 0; padding: 0; margin: 0 0 16px; }
legend, h2 { font-size: .9rem; font-weight: 600; color: var(--soft); padding: 0; margin: 0 0 6px; }
label { display: flex; gap: 10px; align-items: baseline; padding: 9px 12px; margin-bottom: 6px;
  border: 1px solid var(--line); border-radius: 12px; cursor: pointer; overflow-wrap: anywhere; }
label:has(:checked) { background: var(--mark); }
label span { color: var(--soft); }
ul { margin: 0 0 20px; padding-left: 20px; }
button { width: 100%; padding: 11px; margin-top: 8px; border-radius: 99px; font: inherit; font-weight: 700;
  border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.go { background: var(--ink); color: var(--card); border-color: var(--ink); }
p { margin: 0; color: var(--soft); }
@media (max-width: 520px) { main { margin: 0; min-height: 100vh; border: 0; border-radius: 0; } }
"""


def consent_page(
    asked: Mapping[str, Any], accounts: Sequence[Account], *, app_name: str, scopes: Sequence[str]
) -> Answer:
    """200 with the form; its `decision` is `authorize` or `cancel`."""
    passed_on = "".join(
        f'<input type="hidden" name="{name}" value="{escape(str(asked[name]))}">'
        for name in PASSED_ON
        if name in asked
    )
    meanings = "".join(f"<li>{escape(MEANINGS.get(scope, scope))}</li>" for scope in scopes)
    name = f"<bdi>{escape(app_name)}</bdi>"
    return _page(
        "Authorize app",
        f"<h1>{name} wants to access your X account</h1>"
        f'<form method="post" action="authorize">{passed_on}{_choices(accounts)}'
        f"<h2>This app will be able to</h2><ul>{meanings}</ul>{_buttons(accounts)}</form>",
    )


def refusal_page(reason: str) -> Answer:
    """400: an app's mistake, told to the person because it can't be told to the app."""
    detail = f"<h1>Something went wrong</h1><p>You weren't able to give access. {escape(reason)}</p>"
    return _page("Something went wrong", detail, status=400)


def _choices(accounts: Sequence[Account]) -> str:
    if not accounts:
        return "<p>There is no account on this simulated X yet.</p>"
    rows = "".join(
        f'<label><input type="radio" name="account" value="{escape(account.name)}"'
        f"{' checked' if index == 0 else ''} required><bdi>{escape(account.display_name)}</bdi>"
        f"<span>@{escape(account.name)}</span></label>"
        for index, account in enumerate(sorted(accounts, key=lambda one: one.name))
    )
    return f"<fieldset><legend>Account</legend>{rows}</fieldset>"


def _buttons(accounts: Sequence[Account]) -> str:
    go = '<button class="go" name="decision" value="authorize">Authorize app</button>' if accounts else ""
    return f'{go}<button name="decision" value="cancel" formnovalidate>Cancel</button>'


def _page(title: str, content: str, *, status: int = 200) -> Answer:
    answer = html_answer(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title} · simulated X</title><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main>{content}</main></body></html>\n",
        status=status,
    )
    answer.headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return answer
