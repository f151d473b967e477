"""The page on which a member lets an app act, as a browser shows it.

Arrives: an app's request that was checked. Leaves: a form that asks who is signed in, with the pages that each
administers, or a page that says why there is nothing to consent to.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.messages import Answer, html_answer

# What the app asked with goes through the form unchanged, so that it is checked again with the decision.
PASSED_ON = ("response_type", "client_id", "redirect_uri", "scope", "state")
MEANINGS = {
    "openid": "Use your name and photo.",
    "profile": "Use your name and photo.",
    "email": "Use the primary email address of your account.",
    "w_member_social": "Create, modify and delete posts, comments and reactions on your behalf.",
    "w_organization_social": "Create, modify and delete posts, comments and reactions on your organization's behalf.",
    "r_organization_social": "Retrieve your organization's posts, comments and reactions.",
    "rw_organization_admin": "Manage your organization's page and retrieve reporting data.",
    "r_organization_admin": "Retrieve your organization's pages and their reporting data.",
}
# No form-action: a browser would hold it against the redirect to the app too.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)
_STYLE = """
:root { color-scheme: light dark; --ground: #f4f2ee; --card: #fff; --ink: #191919; --soft: #5e5e5e;
  --line: #dcd9d3; --mark: #eaf2fb; --go: #0a66c2; }
@media (prefers-color-scheme: dark) { :root { --ground: #000; --card: #1b1f23; --ink: #e9e9ea;
  --soft: #a5a8ab; --line: #383c40; --mark: #23303d; --go: #71b7fb; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 480px; margin: 8vh auto; padding: 28px; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 16px; overflow-wrap: anywhere; }
fieldset { border: 0; padding: 0; margin: 0 0 16px; }
legend, h2 { font-size: .9rem; font-weight: 600; color: var(--soft); padding: 0; margin: 0 0 6px; }
label { display: flex; gap: 10px; align-items: baseline; padding: 9px 12px; margin-bottom: 6px;
  border: 1px solid var(--line); border-radius: 6px; cursor: pointer; overflow-wrap: anywhere; }
label:has(:checked) { background: var(--mark); }
label span { color: var(--soft); font-size: .9rem; }
ul { margin: 0 0 20px; padding-left: 20px; }
button { width: 100%; padding: 11px; margin-top: 8px; border-radius: 99px; font: inherit; font-weight: 600;
  border: 1px solid var(--line); background: transparent; color: inherit; cursor: pointer; }
button.go { background: var(--go); color: var(--card); border-color: var(--go); }
p { margin: 0; color: var(--soft); }
@media (max-width: 520px) { main { margin: 0; min-height: 100vh; border: 0; border-radius: 0; } }
"""


def consent_page(
    asked: Mapping[str, Any],
    members: Sequence[tuple[Account, Sequence[tuple[str, str]]]],
    *,
    app_name: str,
    scopes: Sequence[str],
) -> Answer:
    """200 with the form; its `decision` is `allow` or `cancel`. A member comes with its pages and roles."""
    passed_on = "".join(
        f'<input type="hidden" name="{name}" value="{escape(str(asked[name]))}">'
        for name in PASSED_ON
        if name in asked
    )
    told = dict.fromkeys(MEANINGS.get(scope, scope) for scope in scopes)
    meanings = "".join(f"<li>{escape(meaning)}</li>" for meaning in told)
    name = f"<bdi>{escape(app_name)}</bdi>"
    return _page(
        "Allow access",
        f"<h1>{name} would like to:</h1><ul>{meanings}</ul>"
        f'<form method="post" action="authorization">{passed_on}{_choices(members)}{_buttons(members)}</form>',
    )


def refusal_page(reason: str) -> Answer:
    """400: an app's mistake, told to the person because it can't be told to the app."""
    detail = f"<h1>Bummer, something went wrong.</h1><p>{escape(reason)}</p>"
    return _page("Something went wrong", detail, status=400)


def _choices(members: Sequence[tuple[Account, Sequence[tuple[str, str]]]]) -> str:
    if not members:
        return "<p>There is nobody on this simulated LinkedIn yet.</p>"
    ordered = sorted(members, key=lambda one: one[0].name)
    rows = "".join(
        f'<label><input type="radio" name="account" value="{escape(account.name)}"'
        f"{' checked' if index == 0 else ''} required><bdi>{escape(account.display_name)}</bdi>"
        f"<span>{_pages(pages)}</span></label>"
        for index, (account, pages) in enumerate(ordered)
    )
    return f"<fieldset><legend>Signed in as</legend>{rows}</fieldset>"


def _pages(pages: Sequence[tuple[str, str]]) -> str:
    told = (f"{role.replace('_', ' ').lower()} of {name}" for name, role in pages)
    return escape(", ".join(told))


def _buttons(members: Sequence[object]) -> str:
    go = '<button class="go" name="decision" value="allow">Allow</button>' if members else ""
    return f'{go}<button name="decision" value="cancel" formnovalidate>Cancel</button>'


def _page(title: str, content: str, *, status: int = 200) -> Answer:
    answer = html_answer(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{title} · simulated LinkedIn</title><link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><main>{content}</main></body></html>\n",
        status=status,
    )
    answer.headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
    return answer
