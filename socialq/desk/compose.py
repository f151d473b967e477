"""Composing: a checked content becomes a post, its first version, and a draft target on each account.

Everything of one post is written in one transaction, everything of many posts by the same few statements
(`write_all`): an import is no slower for each of its rows than it must be.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import errors

from socialq.desk.content import (
    NOBODY,
    NONE_OWN,
    Content,
    PartInput,
    account_facts,
    account_problems,
    clean_parts,
    content_of,
    input_of,
    media_facts,
    rule_problems,
)
from socialq.desk.outgoing import made_files, pins
from socialq.desk.refusals import refusal, refuse_if, unknown
from socialq.desk.tenants import cell_of
from socialq.desk.variations import all_commented, strangers
from socialq.domain.ids import new_id
from socialq.domain.text import BadText, clean_text
from socialq.providers.registry import adapter_for
from socialq.store.cell import accounts, clients, many_targets, media, media_variants, post_versions, posts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from uuid import UUID

    from socialq.desk.content import OwnOptions, OwnParts
    from socialq.desk.pieces import AccountFacts, MediaFacts
    from socialq.domain.targets import Target
    from socialq.providers.base import Adapter
    from socialq.store.sessions import Session
    from socialq.store.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A post that was checked and not yet written."""

    client_id: UUID
    accounts: tuple[AccountFacts, ...]
    content: Content
    labels: tuple[str, ...] = ()
    import_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A post as written: its first version, and a target for each account, in the order given."""

    post_id: UUID
    version_id: UUID
    client_id: UUID
    content_hash: str
    targets: tuple[Target, ...]


def create_post(
    stores: Stores,
    *,
    tenant: UUID,
    client: UUID,
    account_ids: Sequence[UUID],
    parts: Sequence[PartInput],
    first_comment: str | None = None,
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    options: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
    actor: str,
    import_key: str | None = None,
    session: Session | None = None,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Composed:
    """Write a post as a draft. Anything wrong raises `InputRefused` with every problem; nothing is written.

    `first_comment` goes under the post on every account, `own` is what goes out on single accounts instead of
    `parts` (`variations.own_text` makes it from a text), `own_options` what single accounts choose differently from
    `options`. With `session` it becomes part of the caller's transaction.
    """
    with _session(stores, session, tenant=tenant, actor=actor) as open_session:
        draft = check(
            open_session,
            client=client,
            account_ids=account_ids,
            parts=parts,
            first_comment=first_comment,
            own=own,
            own_options=own_options,
            options=options or {},
            labels=labels,
            import_key=import_key,
            adapter_of=adapter_of,
        )
        try:
            (composed,) = write_all(open_session, [draft], tenant=tenant, actor=actor)
        except errors.UniqueViolation:
            problem = "was imported already"
            raise refusal("import_key", "", problem, "nothing is left to do") from None
        return composed


def check(
    session: Session,
    *,
    client: UUID,
    account_ids: Sequence[UUID],
    parts: Sequence[PartInput],
    first_comment: str | None = None,
    own: OwnParts = NOBODY,
    own_options: OwnOptions = NONE_OWN,
    options: Mapping[str, Any],
    labels: Sequence[str] = (),
    import_key: str | None = None,
    adapter_of: Callable[[str], Adapter] = adapter_for,
) -> Draft:
    """Look up what the input names and check it all; raises `InputRefused` with every problem."""
    if clients.by_id(session, client) is None:
        raise unknown("client", client, what="client")
    wanted = list(dict.fromkeys(account_ids))
    known = {row["id"]: account_facts(row) for row in accounts.by_ids(session, wanted)}
    parts, own = all_commented(parts, own, first_comment)
    library = _library(session, [part for each in (parts, *own.values()) for part in each])
    pieces, problems = clean_parts(parts, client=client, library=library)
    own_pieces = {}
    for account_id, each in own.items():
        own_pieces[account_id], found = clean_parts(each, client=client, library=library)
        problems += found
    problems += account_problems(wanted, client=client, known=known)
    problems += strangers({**own, **own_options}, accounts=wanted)
    refuse_if(problems)
    chosen = tuple(known[account_id] for account_id in wanted)
    refuse_if(
        rule_problems(
            pieces,
            own=own_pieces,
            options=options,
            own_options=own_options,
            accounts=chosen,
            adapter_of=adapter_of,
        )
    )
    files = pins(lambda account_id: own_pieces.get(account_id, pieces), chosen, adapter_of=adapter_of)
    return Draft(
        client_id=client,
        accounts=chosen,
        content=content_of(
            input_of(pieces),
            own={account_id: input_of(each) for account_id, each in own_pieces.items()},
            options=options,
            own_options=own_options,
            files=files,
        ),
        labels=clean_labels(labels),
        import_key=import_key,
    )


def write_all(session: Session, drafts: Sequence[Draft], *, tenant: UUID, actor: str) -> list[Composed]:
    """Write checked posts, each with its first version, its draft targets and their parts."""
    ids = [(new_id(), new_id()) for _ in drafts]
    posts.insert(
        session,
        [
            {
                "tenant_id": tenant,
                "id": post_id,
                "client_id": draft.client_id,
                "labels": list(draft.labels),
                "import_key": draft.import_key,
                "created_by": actor,
            }
            for draft, (post_id, _) in zip(drafts, ids, strict=True)
        ],
    )
    post_versions.insert(
        session,
        [
            version_row(draft.content, tenant=tenant, post_id=post_id, version_id=version_id, actor=actor)
            for draft, (post_id, version_id) in zip(drafts, ids, strict=True)
        ],
    )
    made = iter(many_targets.insert(session, _target_rows(drafts, ids), tenant_id=tenant))
    return [
        Composed(
            post_id=post_id,
            version_id=version_id,
            client_id=draft.client_id,
            content_hash=draft.content.hash,
            targets=tuple(next(made) for _ in draft.accounts),
        )
        for draft, (post_id, version_id) in zip(drafts, ids, strict=True)
    ]


def version_row(
    content: Content, *, tenant: UUID, post_id: UUID, version_id: UUID, actor: str, number: int = 1
) -> dict[str, Any]:
    """Spell a content as a row of `post_versions`."""
    return {
        "tenant_id": tenant,
        "id": version_id,
        "post_id": post_id,
        "number": number,
        "content": content.json,
        "content_hash": content.hash,
        "media_ids": list(content.media_ids),
        "created_by": actor,
    }


def clean_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Trim labels and keep each once. Raises `InputRefused` for one that can't be shown."""
    try:
        plain = [clean_text(label).strip() for label in labels]
    except BadText as error:
        raise refusal("labels", "", str(error), "write it again") from None
    return tuple(dict.fromkeys(label for label in plain if label))


def _target_rows(drafts: Sequence[Draft], ids: Sequence[tuple[UUID, UUID]]) -> list[dict[str, Any]]:
    return [
        {
            "id": new_id(),
            "post_id": post_id,
            "account_id": account.id,
            "platform": account.platform,
            "version_id": version_id,
            "parts": draft.content.part_count(account.id),
        }
        for draft, (post_id, version_id) in zip(drafts, ids, strict=True)
        for account in draft.accounts
    ]


def _library(session: Session, parts: Sequence[PartInput]) -> dict[UUID, MediaFacts]:
    ids = list(dict.fromkeys(item for part in parts for item in part.get("media", ())))
    if not ids:
        return {}
    made = made_files(media_variants.of_media(session, ids))
    return {row["id"]: media_facts(row, made.get(row["id"], {})) for row in media.by_ids(session, ids)}


@contextmanager
def _session(stores: Stores, given: Session | None, *, tenant: UUID, actor: str) -> Iterator[Session]:
    if given is not None:
        yield given
        return
    with cell_of(stores, tenant).app.transaction(tenant=tenant, actor=actor) as session:
        yield session
