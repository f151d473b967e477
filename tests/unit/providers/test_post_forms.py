"""How people name a post: what they copy from a platform's page is read as the platform's own id."""

from __future__ import annotations

import pytest

from socialq.desk.links import RemotePost, remote_post
from socialq.domain.errors import InputRefused
from socialq.providers.registry import adapter_for

DID = "did:plc:abc"


def named(platform: str, text: str, *, handle: str = "quillmoss", account: str = "12") -> RemotePost:
    return remote_post(
        text,
        base_url="https://api.example",
        handle=handle,
        remote_user_id=account,
        forms=adapter_for(platform).post_forms,
    )


@pytest.mark.parametrize(
    ("platform", "account", "text", "remote_id"),
    [
        ("x", "12", "https://x.com/i/web/status/34", "34"),
        ("x", "12", "https://x.com/Quillmoss/status/34?s=20", "34"),
        ("x", "12", "34", "34"),
        ("bluesky", DID, f"at://{DID}/app.bsky.feed.post/3n3k", f"at://{DID}/app.bsky.feed.post/3n3k"),
        (
            "bluesky",
            DID,
            "https://bsky.app/profile/quillmoss/post/3n3k",
            f"at://{DID}/app.bsky.feed.post/3n3k",
        ),
        ("linkedin", "urn:li:person:s1", "urn:li:share:34", "urn:li:share:34"),
        (
            "linkedin",
            "urn:li:person:s1",
            "https://www.linkedin.com/feed/update/urn:li:share:34/?x=1",
            "urn:li:share:34",
        ),
        ("facebook", "12", "https://www.facebook.com/12_34", "12_34"),
        ("facebook", "12", "https://www.facebook.com/quillmoss/posts/34", "12_34"),
    ],
)
def test_what_a_person_copies_names_the_post(platform: str, account: str, text: str, remote_id: str) -> None:
    """The address of the page, or the id, becomes the id that the ledger of parts keeps."""
    found = named(platform, text, account=account)

    assert found.remote_id == remote_id
    assert found.permalink == (text if text.startswith("https://") else None)


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("x", "https://x.com/somebody/status/34"),
        ("bluesky", "at://did:plc:other/app.bsky.feed.post/3n3k"),
        ("bluesky", "https://bsky.app/profile/somebody/post/3n3k"),
        ("facebook", "https://www.facebook.com/99_34"),
        ("linkedin", "https://www.linkedin.com/in/mara"),
    ],
)
def test_somebody_elses_post_is_refused(platform: str, text: str) -> None:
    """Believing it would hide that a post is missing."""
    with pytest.raises(InputRefused):
        named(platform, text)
