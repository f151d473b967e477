"""What this instance says about itself: its limits and its version.

The figures are Mastodon 4.4's own (`/api/v2/instance` → `configuration`); a client is meant to read them
here and obey them, so the checks in this package use the same constants.
"""

from typing import Any

VERSION = "4.4.3"
TITLE = "Sandbox"

MAX_MEDIA_ATTACHMENTS = 4
IMAGE_LIMIT_BYTES = 16_777_216
IMAGE_LIMIT_PIXELS = 33_177_600
VIDEO_LIMIT_BYTES = 103_809_024
DESCRIPTION_LIMIT = 1500
MIME_TYPES = (
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/heic",
    "image/heif",
    "image/webp",
    "image/avif",
    "video/webm",
    "video/mp4",
    "video/quicktime",
    "audio/wave",
    "audio/ogg",
    "audio/mpeg",
    "audio/flac",
    "audio/mp4",
)


def configuration(base_url: str, *, max_characters: int, per_url: int) -> dict[str, Any]:
    return {
        "urls": {
            "streaming": base_url.replace("http", "ws", 1),
            "status": None,
            "about": f"{base_url}/about",
        },
        "vapid": {"public_key": ""},
        "accounts": {"max_featured_tags": 10, "max_pinned_statuses": 5},
        "statuses": {
            "max_characters": max_characters,
            "max_media_attachments": MAX_MEDIA_ATTACHMENTS,
            "characters_reserved_per_url": per_url,
        },
        "media_attachments": {
            "description_limit": DESCRIPTION_LIMIT,
            "image_matrix_limit": IMAGE_LIMIT_PIXELS,
            "image_size_limit": IMAGE_LIMIT_BYTES,
            "supported_mime_types": list(MIME_TYPES),
            "video_frame_rate_limit": 120,
            "video_matrix_limit": 8_294_400,
            "video_size_limit": VIDEO_LIMIT_BYTES,
        },
        "polls": {
            "max_options": 4,
            "max_characters_per_option": 50,
            "min_expiration": 300,
            "max_expiration": 2_629_746,
        },
        "translation": {"enabled": False},
        "limited_federation": False,
    }


def instance_v2(base_url: str, host: str, *, max_characters: int, per_url: int) -> dict[str, Any]:
    return {
        "domain": host,
        "title": TITLE,
        "version": VERSION,
        "source_url": "https://github.com/mastodon/mastodon",
        "description": "A simulated Mastodon instance",
        "usage": {"users": {"active_month": 0}},
        "thumbnail": {"url": f"{base_url}/preview.png"},
        "icon": [],
        "languages": ["en"],
        "configuration": configuration(base_url, max_characters=max_characters, per_url=per_url),
        "registrations": {"enabled": False, "approval_required": False, "message": None, "url": None},
        "api_versions": {"mastodon": 6},
        "contact": {"email": "", "account": None},
        "rules": [],
    }


def instance_v1(base_url: str, host: str, *, max_characters: int, per_url: int) -> dict[str, Any]:
    """The older form, which some clients still ask for their version check."""
    full = configuration(base_url, max_characters=max_characters, per_url=per_url)
    wanted = ("accounts", "statuses", "media_attachments", "polls")
    return {
        "uri": host,
        "title": TITLE,
        "short_description": "A simulated Mastodon instance",
        "description": "A simulated Mastodon instance",
        "email": "",
        "version": VERSION,
        "urls": {"streaming_api": full["urls"]["streaming"]},
        "stats": {"user_count": 0, "status_count": 0, "domain_count": 1},
        "thumbnail": f"{base_url}/preview.png",
        "languages": ["en"],
        "registrations": False,
        "approval_required": False,
        "invites_enabled": False,
        "configuration": {name: full[name] for name in wanted},
        "contact_account": None,
        "rules": [],
    }
