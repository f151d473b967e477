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
        naming=adapter_for(platform).post_naming,
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
        (
            "linkedin",
            "urn:li:person:s1",
            "https://www.linkedin.com/feed/update/urn%3Ali%3AugcPost%3A34",
            "urn:li:ugcPost:34",
        ),
        (
            "linkedin",
            "urn:li:person:s1",
            "https://www.linkedin.com/embed/feed/update/urn:li:share:34",
            "urn:li:share:34",
        ),
        (
            "linkedin",
            "urn:li:person:s1",
            "https://www.linkedin.com/posts/mara-sandal_moss-share-34-aBc1?utm_source=share",
            "urn:li:share:34",
        ),
        ("facebook", "12", "https://www.facebook.com/quillmoss/posts/34", "12_34"),
        ("facebook", "12", "https://www.facebook.com/quillmoss/posts/a-title/34/", "12_34"),
        ("facebook", "12", "https://www.facebook.com/permalink.php?story_fbid=34&id=12", "12_34"),
        ("facebook", "12", "https://www.facebook.com/12/videos/34/", "34"),
        ("facebook", "12", "https://www.facebook.com/reel/34", "34"),
        ("facebook", "12", "https://www.facebook.com/watch/?v=34", "34"),
        ("facebook", "12", "12_34", "12_34"),
        (
            "bluesky",
            DID,
            "https://bsky.app/profile/did:plc:abc/post/3n3k?ref=1",
            f"at://{DID}/app.bsky.feed.post/3n3k",
        ),
        ("instagram", "12", "17895695668004550", "17895695668004550"),
        ("threads", "12", "17895695668004550", "17895695668004550"),
        ("mastodon", "12", "https://api.example/@quillmoss/34", "34"),
        ("mastodon", "12", "34", "34"),
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
        ("facebook", "99_34"),
        ("facebook", "https://www.facebook.com/12"),
        ("facebook", "https://www.facebook.com/99/videos/34"),
        ("linkedin", "https://www.linkedin.com/in/mara"),
    ],
)
def test_somebody_elses_post_is_refused(platform: str, text: str) -> None:
    """Believing it would hide that a post is missing."""
    with pytest.raises(InputRefused):
        named(platform, text)


@pytest.mark.parametrize(
    ("platform", "text", "way_out"),
    [
        ("bluesky", "3n3k", "bsky.app/profile"),
        ("facebook", "https://www.facebook.com/quillmoss/posts/pfbid02abc", "PAGE_NUMBER"),
        ("facebook", "https://api.example/quillmoss/34", "PAGE_NUMBER"),
        ("instagram", "https://www.instagram.com/p/DAbc1/", "fields=id,permalink"),
        ("instagram", "DAbc1", "fields=id,permalink"),
        ("threads", "https://www.threads.net/@quillmoss/post/DAbc1", "fields=id,permalink"),
        ("threads", "https://www.threads.com/@quillmoss/post/DAbc1", "fields=id,permalink"),
        ("threads", "DAbc1", "fields=id,permalink"),
        ("linkedin", "34", "Embed this post"),
        ("linkedin", "https://www.linkedin.com/feed/update/urn:li:activity:34/", "Embed this post"),
        ("linkedin", "https://www.linkedin.com/posts/mara_moss-activity-34-aBc1", "Embed this post"),
        ("x", "https://api.x.com/2/tweets/34", "https://x.com/NAME/status/NUMBER"),
        ("x", "DAbc1", "https://x.com/NAME/status/NUMBER"),
        ("x", "٣٤", "https://x.com/NAME/status/NUMBER"),
    ],
)
def test_what_holds_no_id_of_the_platform_is_refused_with_the_way_to_it(
    platform: str, text: str, way_out: str
) -> None:
    """Kept as an id it would never be the one that the platform tells: a second copy would go unseen."""
    with pytest.raises(InputRefused) as refused:
        named(platform, text)

    assert way_out in str(refused.value)
