"""X's JSON objects: posts, users and media, with the fields that were asked for and no others."""

from collections.abc import Iterable
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.ledger import Post
from socialq.sandbox.world import World
from socialq.sandbox.x.fields import Wanted
from socialq.sandbox.x.files import KINDS
from socialq.sandbox.x.media import media_key
from socialq.sandbox.x.shown import Shown, Source, show

SITE = "https://x.com"
SOURCE = "socialq"


class Entities:
    """Builds objects for one caller. `site_url` is the sandbox's root as that caller reached it."""

    def __init__(self, world: World, platform: str, site_url: str, wanted: Wanted) -> None:
        self._world = world
        self._platform = platform
        self._site_url = site_url
        self._wanted = wanted

    def post(self, post: Post) -> dict[str, Any]:
        wanted, shown = self._wanted, self.shown(post)
        base = {"id": post.id, "text": shown.text, wanted.word("edit_history_tweet_ids"): [post.id]}
        optional = {**self._facts(post, shown), **self._relations(post)}
        return base | {name: value for name, value in optional.items() if value and wanted.wants(name)}

    def shown(self, post: Post) -> Shown:
        video = any(media["type"] == "video" for media in post.media)
        return show(
            Source(
                post_id=post.id,
                page=f"{SITE}/{post.account}/status/{post.id}",
                text=post.text,
                media=[_key_of(media) for media in post.media],
                media_path="video" if video else "photo",
            ),
            user_id_of=self._user_id,
        )

    def user(self, account: Account) -> dict[str, Any]:
        posts, _ = self._world.ledger.tally(self._platform, account.name)
        metrics = {"followers_count": 0, "following_count": 0, "listed_count": 0, "like_count": 0}
        # A question about users alone does not tell its generation, so both words stand here.
        metrics |= {"tweet_count": posts, "post_count": posts}
        optional = {
            "created_at": f"{account.created_at[:19]}.000Z",
            "description": "",
            "location": "",
            "protected": False,
            "verified": False,
            "verified_type": "none",
            "profile_image_url": f"{self._site_url}/{self._platform}/profile_images/default_normal.png",
            "public_metrics": metrics,
            "url": "",
        }
        base = {"id": account.id, "name": account.display_name, "username": account.name}
        return base | {name: value for name, value in optional.items() if name in self._wanted.user}

    def includes(self, posts: Iterable[Post]) -> dict[str, list[dict[str, Any]]]:
        """What the expansions lead to, each thing once."""
        users: dict[str, dict[str, Any]] = {}
        media: dict[str, dict[str, Any]] = {}
        parents: dict[str, dict[str, Any]] = {}
        for post in posts:
            for account in self._expanded_users(post):
                users[account.id] = self.user(account)
            if "attachments.media_keys" in self._wanted.expansions:
                media |= {_key_of(one): self._media(one) for one in post.media}
            if self._wanted.expansions & {"referenced_tweets.id", "referenced_posts"}:
                parent = self._parent(post)
                parents |= {parent.id: self.post(parent)} if parent else {}
        found = {"users": users, "media": media, self._wanted.word("tweets"): parents}
        return {name: list(things.values()) for name, things in found.items() if things}

    def _facts(self, post: Post, shown: Shown) -> dict[str, Any]:
        note: dict[str, Any] | None = None
        if shown.note_text is not None:
            note = {
                "text": shown.note_text,
                **({"entities": shown.note_entities} if shown.note_entities else {}),
            }
        replies = len(self._world.ledger.replies(self._platform, post.id))
        counts = {"reply_count": replies, "like_count": 0, "quote_count": 0, "bookmark_count": 0}
        counts |= {"impression_count": 0, "repost_count" if self._wanted.says_post else "retweet_count": 0}
        return {
            # X tells whole seconds.
            "created_at": f"{post.created_at[:19]}.000Z",
            "entities": shown.entities,
            self._wanted.word("note_tweet"): note,
            "lang": "en",
            "source": SOURCE,
            "reply_settings": post.details["reply_settings"],
            "paid_partnership": post.details["paid_partnership"],
            "public_metrics": counts,
            "display_text_range": [0, len(shown.text)],
            "edit_controls": {"edits_remaining": 0, "is_edit_eligible": False},
        }

    def _relations(self, post: Post) -> dict[str, Any]:
        """Who and what a post hangs together with."""
        author = self._world.accounts.get(self._platform, post.account)
        parent = self._parent(post)
        relations: dict[str, Any] = {
            "author_id": author.id if author else None,
            "conversation_id": self._root(post),
            "in_reply_to_user_id": self._user_id(parent.account) if parent else None,
        }
        if post.reply_to is not None:
            referenced = [{"type": "replied_to", "id": post.reply_to}]
            relations[self._wanted.word("referenced_tweets")] = referenced
        if post.media:
            relations["attachments"] = {"media_keys": [_key_of(media) for media in post.media]}
        return relations

    def _expanded_users(self, post: Post) -> Iterable[Account]:
        names = []
        if "author_id" in self._wanted.expansions:
            names.append(post.account)
        parent = self._parent(post)
        if parent is not None and "in_reply_to_user_id" in self._wanted.expansions:
            names.append(parent.account)
        found = (self._world.accounts.get(self._platform, name) for name in names)
        return [account for account in found if account is not None]

    def _media(self, media: dict[str, Any]) -> dict[str, Any]:
        optional = {
            "alt_text": media["description"],
            "width": media["width"],
            "height": media["height"],
            "url": f"{self._site_url}/media/{media['file']}",
        }
        base = {"media_key": _key_of(media), "type": KINDS[media["type"]].name_on_x}
        return base | {
            name: value for name, value in optional.items() if value and name in self._wanted.media
        }

    def _parent(self, post: Post) -> Post | None:
        return self._world.ledger.get(self._platform, post.reply_to) if post.reply_to else None

    def _root(self, post: Post) -> str:
        while post.reply_to is not None:
            parent = self._world.ledger.get(self._platform, post.reply_to)
            if parent is None:
                return post.reply_to
            post = parent
        return post.id

    def _user_id(self, name: str) -> str | None:
        account = self._world.accounts.get(self._platform, name)
        return account.id if account else None


def _key_of(media: dict[str, Any]) -> str:
    return media_key(media["id"], media["type"])
