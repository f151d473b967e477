"""Mastodon's JSON entities: Account, Status, MediaAttachment, made from what the world remembers."""

from dataclasses import dataclass
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.ledger import Post
from socialq.sandbox.mastodon.text import Mention, hashtags, mentions, to_html
from socialq.sandbox.world import World

BLURHASH = "UBL_:rOpGG-oBUNG,qRj2so|=eE1w^n4S5NH"
APPLICATION = {"name": "socialq", "website": None}


@dataclass(frozen=True, slots=True)
class Entities:
    """Builds entities for one caller. `site_url` is the sandbox's root as that caller reached it."""

    world: World
    platform: str
    site_url: str

    @property
    def base_url(self) -> str:
        return f"{self.site_url}/{self.platform}"

    @property
    def host(self) -> str:
        return self.site_url.partition("://")[2]

    def account(self, account: Account) -> dict[str, Any]:
        number_of_posts, newest = self.world.ledger.tally(self.platform, account.name)
        picture = f"{self.base_url}/avatars/original/missing.png"
        return {
            "id": account.id,
            "username": account.name,
            "acct": account.name,
            "display_name": account.display_name,
            "locked": False,
            "bot": False,
            "discoverable": True,
            "indexable": False,
            "group": False,
            "created_at": f"{account.created_at[:10]}T00:00:00.000Z",
            "note": "",
            "url": f"{self.base_url}/@{account.name}",
            "uri": f"{self.base_url}/users/{account.name}",
            "avatar": picture,
            "avatar_static": picture,
            "header": picture,
            "header_static": picture,
            "followers_count": 0,
            "following_count": 0,
            "statuses_count": number_of_posts,
            "last_status_at": newest.created_at[:10] if newest else None,
            "hide_collections": None,
            "noindex": False,
            "emojis": [],
            "roles": [],
            "fields": [],
        }

    def credential_account(self, account: Account, scopes: str) -> dict[str, Any]:
        """The account itself, as `verify_credentials` shows it."""
        source = {"privacy": "public", "sensitive": False, "language": None, "note": "", "fields": []}
        entity = {**self.account(account), "source": {**source, "follow_requests_count": 0}}
        if "profile" in scopes.split():
            return entity
        role = {"id": "-99", "name": "", "permissions": "0", "color": "", "highlighted": False}
        return {**entity, "role": role}

    def status(self, post: Post) -> dict[str, Any]:
        author = self.world.accounts.get(self.platform, post.account)
        parent = self.world.ledger.get(self.platform, post.reply_to) if post.reply_to else None
        details = post.details
        return {
            "id": post.id,
            "created_at": post.created_at,
            "in_reply_to_id": parent.id if parent else None,
            "in_reply_to_account_id": self._account_id(parent.account) if parent else None,
            "sensitive": details["sensitive"],
            "spoiler_text": details["spoiler_text"],
            "visibility": details["visibility"],
            "language": details["language"],
            "uri": f"{self.base_url}/users/{post.account}/statuses/{post.id}",
            "url": f"{self.base_url}/@{post.account}/{post.id}",
            "replies_count": len(self.world.ledger.replies(self.platform, post.id)),
            "reblogs_count": 0,
            "favourites_count": 0,
            "edited_at": None,
            "favourited": False,
            "reblogged": False,
            "muted": False,
            "bookmarked": False,
            "pinned": False,
            "content": to_html(post.text, local_url=self.base_url, is_local=self._is_local),
            "filtered": [],
            "reblog": None,
            "application": APPLICATION,
            "account": self.account(author) if author else None,
            "media_attachments": [self.attached_media(media) for media in post.media],
            "mentions": [entity for named in mentions(post.text) if (entity := self._mention(named))],
            "tags": [
                {"name": tag.lower(), "url": f"{self.base_url}/tags/{tag}"} for tag in hashtags(post.text)
            ],
            "emojis": [],
            "card": None,
            "poll": None,
        }

    def attached_media(self, media: dict[str, Any]) -> dict[str, Any]:
        item = self.world.shelf.get(self.platform, "media", media["id"])
        return self.media(media["id"], item or {**media, "file": None, "meta": {}}, is_ready=True)

    def media(self, media_id: str, item: dict[str, Any], *, is_ready: bool) -> dict[str, Any]:
        """A MediaAttachment; while it is processed its `url` is null."""
        address = f"{self.site_url}/media/{item['file']}"
        return {
            "id": media_id,
            "type": item["type"],
            "url": address if is_ready else None,
            "preview_url": address,
            "remote_url": None,
            "preview_remote_url": None,
            "text_url": None,
            "meta": item["meta"],
            "description": item["description"],
            "blurhash": None if item["type"] == "audio" else BLURHASH,
        }

    def _account_id(self, name: str) -> str | None:
        account = self.world.accounts.get(self.platform, name)
        return account.id if account else None

    def _is_local(self, user: str, domain: str | None) -> bool:
        is_here = domain is None or domain == self.host
        return is_here and self.world.accounts.get(self.platform, user) is not None

    def _mention(self, mention: Mention) -> dict[str, str] | None:
        if not self._is_local(mention.user, mention.domain):
            return None
        account_id = self._account_id(mention.user) or ""
        url = f"{self.base_url}/@{mention.user}"
        return {"id": account_id, "username": mention.user, "url": url, "acct": mention.user}
