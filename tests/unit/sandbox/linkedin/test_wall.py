"""LinkedIn on the wall: documents, cards of links, comments below their posts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    from tests.fixtures_sandbox import RunningSandbox

SECONDS = 10


def post(account: dict[str, Any], path: str, body: dict[str, Any]) -> requests.Response:
    headers = {"Authorization": f"Bearer {account['access_token']}", "LinkedIn-Version": "202609"}
    return requests.post(f"{account['base_url']}{path}", json=body, headers=headers, timeout=SECONDS)


def body_of(account: dict[str, Any], commentary: str, **more: Any) -> dict[str, Any]:
    return {
        "author": account["remote_user_id"],
        "commentary": commentary,
        "visibility": "LOGGED_IN",
        "distribution": {"feedDistribution": "MAIN_FEED"},
        "lifecycleState": "PUBLISHED",
        **more,
    }


def test_a_visitor_sees_cards_documents_and_comments(sandbox: RunningSandbox) -> None:
    """What a post carries is shown as a person would meet it, nothing of it as markup."""
    sandbox.settings("linkedin", image_processing_ms=0)
    account = sandbox.create_account("wallace", "linkedin", display_name="Wallace")
    asked = {"initializeUploadRequest": {"owner": account["remote_user_id"]}}
    announced = post(account, "/rest/documents?action=initializeUpload", asked).json()["value"]
    headers = {"Authorization": f"Bearer {account['access_token']}"}
    requests.put(announced["uploadUrl"], data=b"%PDF-1.7\n", headers=headers, timeout=SECONDS)
    document = {"media": {"id": announced["document"], "title": "The <year> in review"}}
    first = post(account, "/rest/posts", body_of(account, r"Our report \(all of it\)", content=document))
    urn = first.headers["x-restli-id"]
    article = {"article": {"source": "https://example.com/a", "title": "A <b>title</b>"}}
    post(account, "/rest/posts", body_of(account, "Read this", content=article))
    comment = {"actor": account["remote_user_id"], "object": urn, "message": {"text": "First!"}}
    assert post(account, f"/rest/socialActions/{urn}/comments", comment).status_code == 201
    page = requests.get(f"{sandbox.url}/?platform=linkedin&account=wallace", timeout=SECONDS).text
    for shown in (
        "Our report (all of it)",
        "The &lt;year&gt; in review",
        'href="https://example.com/a"',
        "A &lt;b&gt;title&lt;/b&gt;",
        "First!",
        '<span class="tag">logged_in</span>',
    ):
        assert shown in page
    assert page.index("Our report") < page.index("First!")
    link = requests.get(f"{account['base_url']}/feed/update/{urn}/", timeout=SECONDS, allow_redirects=False)
    assert link.headers["Location"].endswith(f"#linkedin-{urn}")
