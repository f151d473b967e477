"""Which fields of posts a caller wants, in the words of either generation of the API.

X says `tweet` in the documented API and `post` in its newest description (2.167): `tweet.fields` or
`post.fields`, `referenced_tweets` or `referenced_posts`. The answer speaks as the question did.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from socialq.sandbox.x import errors
from socialq.sandbox.x.switches import Switches

FIELD_PARAMETERS = (
    "tweet.fields",
    "post.fields",
    "expansions",
    "user.fields",
    "media.fields",
    "poll.fields",
    "place.fields",
)
_COMMON = [
    "article",
    "attachments",
    "card_uri",
    "community_id",
    "context_annotations",
    "conversation_id",
    "created_at",
    "display_text_range",
    "edit_controls",
    "entities",
    "geo",
    "id",
    "lang",
    "non_public_metrics",
    "organic_metrics",
    "possibly_sensitive",
    "promoted_metrics",
    "public_metrics",
    "reply_settings",
    "scopes",
    "source",
    "text",
    "withheld",
]
TWEET_FIELDS = frozenset(
    {
        *_COMMON,
        "author_id",
        "edit_history_tweet_ids",
        "in_reply_to_user_id",
        "media_metadata",
        "note_tweet",
        "referenced_tweets",
    }
)
POST_FIELDS = frozenset(
    {
        *_COMMON,
        "article_title",
        "matched_media_notes",
        "media_metadata",
        "note_post",
        "note_request_suggestions",
        "paid_partnership",
        "suggested_source_links",
        "suggested_source_links_with_counts",
    }
)
USER_FIELDS = frozenset(
    [
        "affiliation",
        "confirmed_email",
        "connection_status",
        "created_at",
        "description",
        "entities",
        "id",
        "is_identity_verified",
        "location",
        "most_recent_tweet_id",
        "name",
        "parody",
        "pinned_tweet_id",
        "profile_banner_url",
        "profile_image_url",
        "protected",
        "public_metrics",
        "receives_your_dm",
        "subscribes_to_you",
        "subscription",
        "subscription_type",
        "url",
        "username",
        "verified",
        "verified_followers_count",
        "verified_type",
        "withheld",
    ]
)
MEDIA_FIELDS = frozenset(
    [
        "alt_text",
        "duration_ms",
        "height",
        "media_key",
        "non_public_metrics",
        "organic_metrics",
        "preview_image_url",
        "promoted_metrics",
        "public_metrics",
        "type",
        "url",
        "variants",
        "width",
    ]
)
EXPANSIONS = frozenset(
    [
        "article.cover_media",
        "article.media_entities",
        "attachments.media_keys",
        "attachments.media_source_tweet",
        "attachments.poll_ids",
        "author_id",
        "edit_history_post_ids",
        "edit_history_tweet_ids",
        "entities.mentions.username",
        "geo.place_id",
        "in_reply_to_user_id",
        "referenced_posts",
        "referenced_tweets.id",
        "referenced_tweets.id.author_id",
        "username",
    ]
)
_POST_EXPANSIONS = frozenset({"referenced_posts", "edit_history_post_ids"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to show. `says_post`: in the words of the newer generation."""

    post: frozenset[str] = frozenset()
    user: frozenset[str] = frozenset()
    media: frozenset[str] = frozenset()
    expansions: frozenset[str] = frozenset()
    says_post: bool = False

    def word(self, tweet_word: str) -> str:
        return tweet_word.replace("tweet", "post") if self.says_post else tweet_word

    def wants(self, name: str) -> bool:
        """Whether a field is wanted, itself or because an expansion leads through it."""
        return name in self.post or name in {expansion.partition(".")[0] for expansion in self.expansions}


def read_wanted(query: Mapping[str, Any], switches: Switches) -> Wanted:
    """Refuses a value that X doesn't know, and the words that are switched off."""
    takes_tweet, takes_post = switches.is_on("accepts_tweet_fields"), switches.is_on("accepts_post_fields")
    for name, is_taken in (("tweet.fields", takes_tweet), ("post.fields", takes_post)):
        if name in query and not is_taken:
            listed = ",".join(sorted({*FIELD_PARAMETERS} - {name}))
            message = f"The query parameter [{name}] is not one of [{listed}]"
            raise errors.Refused(errors.invalid_request(message, parameters={name: [str(query[name])]}))
    tweet = _names(query, "tweet.fields", TWEET_FIELDS)
    post = _names(query, "post.fields", POST_FIELDS)
    expansions = _names(query, "expansions", EXPANSIONS)
    asks_post = "post.fields" in query or bool(expansions & _POST_EXPANSIONS)
    return Wanted(
        post=tweet | post,
        user=_names(query, "user.fields", USER_FIELDS),
        media=_names(query, "media.fields", MEDIA_FIELDS),
        expansions=expansions,
        says_post=asks_post or not takes_tweet,
    )


def _names(query: Mapping[str, Any], parameter: str, known: frozenset[str]) -> frozenset[str]:
    if parameter not in query:
        return frozenset()
    names = str(query[parameter]).split(",")
    for name in names:
        if name not in known:
            listed = ",".join(sorted(known))
            message = f"The `{parameter}` query parameter value [{name}] is not one of [{listed}]"
            raise errors.Refused(errors.invalid_request(message, parameters={parameter: names}))
    return frozenset(names)
