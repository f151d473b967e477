"""Turns stored work into what an adapter is handed: an account with its token, and a part with its files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from socialq.domain import keys
from socialq.domain.contents import options_of, parts_of, role_of
from socialq.providers.base import AccountAccess, MediaItem, Part

if TYPE_CHECKING:
    from datetime import datetime

    from socialq.domain.work import Work
    from socialq.pipeline.ports import Credentials, Files


def account_access(work: Work, credentials: Credentials) -> AccountAccess:
    """Open the account for the length of this work."""
    account = work.account
    return AccountAccess(
        account_id=str(account.id),
        platform=account.platform,
        base_url=account.base_url,
        handle=account.handle,
        remote_user_id=account.remote_user_id,
        token=credentials.token_of(work.target.tenant_id, account),
        limits=account.limits,
        scopes=account.scopes,
    )


def part_content(work: Work, part_no: int, *, key_instant: datetime, files: Files) -> Part:
    """Build one part of the pinned version, under the part before it if that is live."""
    content = parts_of(work.content, work.account.id)[part_no - 1]
    live = {part.part_no: part for part in work.parts if part.live}
    parent, root = live.get(part_no - 1), live.get(1)
    publication_key = keys.publication_key(work.target.id, key_instant, work.target.version_id)
    media = [work.media[media_id] for media_id in content.get("media", ())]
    return Part(
        number=part_no,
        text=content["text"],
        key=keys.part_key(publication_key, part_no),
        media=tuple(
            MediaItem(
                media_id=item.id,
                mime_type=item.mime_type,
                byte_size=item.byte_size,
                alt_text=item.alt_text,
                open=partial(files.open, item.storage_key),
                width=item.width,
                height=item.height,
                duration_seconds=item.duration_seconds,
                fps=item.fps,
                video_codec=item.video_codec,
                audio_codec=item.audio_codec,
                link=files.link_of(work.target, item),
            )
            for item in media
        ),
        options=options_of(work.content, work.account.id),
        parent_id=None if parent is None else parent.remote_id,
        root_id=None if root is None or part_no == 1 else root.remote_id,
        parent_ref={} if parent is None else parent.remote_ref,
        root_ref={} if root is None or part_no == 1 else root.remote_ref,
        role=role_of(content),
        key_instant=key_instant,
    )
