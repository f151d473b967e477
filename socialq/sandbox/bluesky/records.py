"""Records: put, created, deleted, read. A post is a record that the ledger shows.

Arrives: requests that passed the gate. Leaves: `uri` and `cid`. What must stay true: a record is answered only
when it is on disk; what is written under a key that holds something is refused as a PDS refuses it, which for
`createRecord` and `applyWrites` is a 500.
"""

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from socialq.sandbox.accounts import Account
from socialq.sandbox.bluesky import errors
from socialq.sandbox.bluesky.blobs import Blobs
from socialq.sandbox.bluesky.cids import record_cid
from socialq.sandbox.bluesky.errors import Refused
from socialq.sandbox.bluesky.lexicon import POST, Lexicon
from socialq.sandbox.bluesky.people import People, did_of
from socialq.sandbox.bluesky.switches import Switches
from socialq.sandbox.ids import iso_milliseconds
from socialq.sandbox.ledger import Post
from socialq.sandbox.messages import Answer, json_answer
from socialq.sandbox.platform import Call
from socialq.sandbox.world import World

TID_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it stands: `collection` and `rkey` name it within its account's repository."""

    uri: str
    collection: str
    rkey: str
    cid: str
    value: dict[str, Any]
    created_at: str


@dataclass(frozen=True, slots=True)
class _Write:
    """A record that was checked and may be kept."""

    collection: str
    rkey: str
    value: dict[str, Any]
    uri: str
    cid: str


class Records:
    """The endpoints of `com.atproto.repo`."""

    def __init__(
        self, world: World, platform: str, *, people: People, blobs: Blobs, switches: Switches
    ) -> None:
        self._world = world
        self._platform = platform
        self._people = people
        self._blobs = blobs
        self._switches = switches
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def describe(self, call: Call) -> None:
        """Tell the request log the text and the key."""
        assert call.entry is not None  # noqa: S101 - only publish requests are described
        body = call.request.json
        body = body if isinstance(body, dict) else {}
        writes = body.get("writes")
        first = writes[0] if isinstance(writes, list) and writes and isinstance(writes[0], dict) else body
        record = first.get("record", first.get("value"))
        text = str(record.get("text") or "") if isinstance(record, dict) else ""
        # Half a character, which the post is refused for, must not spoil the log.
        call.entry.text = text.encode("utf-8", "replace").decode()
        call.entry.idempotency_key = str(first["rkey"]) if first.get("rkey") else None

    def put(self, call: Call) -> Answer:
        """The same again is no write and no error; other content is refused where `swapRecord` is null."""
        account, body = self._own_body(call)
        write = self._checked(account, body, body.get("record"))
        with self._turns[account.name]:
            known = self._record(write.uri)
            if known is not None and known.cid == write.cid:
                return json_answer(_shown(write))
            is_swap = "swapRecord" in body
            if is_swap and body["swapRecord"] != (known.cid if known else None):
                at = known.cid if known else "null"
                raise Refused(f"Record was at {at}", error="InvalidSwap")
            self._keep(account, write, self._media_of(account, write))
        return self._written(write, is_new=known is None)

    def create(self, call: Call) -> Answer:
        account, body = self._own_body(call)
        rkey = body.get("rkey") or _tid()
        write = self._checked(account, {**body, "rkey": rkey}, body.get("record"))
        with self._turns[account.name]:
            if self._record(write.uri) is not None:
                return errors.internal_error()
            self._keep(account, write, self._media_of(account, write))
        return self._written(write, is_new=True)

    def apply(self, call: Call) -> Answer:
        """`applyWrites`: all of them or none; only creation is offered here."""
        account, body = self._own_body(call)
        given = body.get("writes")
        if not isinstance(given, list) or not given:
            raise Refused('Missing required key "writes" at $')
        writes = [self._checked_creation(account, one) for one in given]
        with self._turns[account.name]:
            if any(self._record(write.uri) is not None for write in writes):
                return errors.internal_error()
            media = [self._media_of(account, write) for write in writes]
            for write, files in zip(writes, media, strict=True):
                self._keep(account, write, files)
        kind = "com.atproto.repo.applyWrites#createResult"
        answer = json_answer(
            {"commit": _commit(writes[0]), "results": [{"$type": kind, **_shown(write)} for write in writes]}
        )
        answer.accepted = any(write.collection == POST for write in writes)
        return answer

    def delete(self, call: Call) -> Answer:
        """What is not there any more counts as deleted."""
        account, body = self._own_body(call)
        uri = _uri(account, str(body.get("collection")), str(body.get("rkey")))
        if self._record(uri) is None:
            return json_answer({})
        if self._world.ledger.get(self._platform, uri) is not None:
            self._world.ledger.remove(self._platform, uri)
        else:
            self._world.shelf.put(self._platform, "record", uri, item={"gone": True})
        return json_answer({"commit": {"cid": record_cid({"deleted": uri}), "rev": _tid()}})

    def show(self, call: Call) -> Answer:
        """`getRecord`; a PDS asks nobody for a token here."""
        query = call.request.query
        account = self._repository(query)
        uri = _uri(account, str(query.get("collection")), str(query.get("rkey")))
        record = self._record(uri)
        wanted_cid = query.get("cid")
        if record is None or self._is_hidden(record) or wanted_cid not in {None, record.cid}:
            raise Refused(f"Could not locate record: {uri}", error="RecordNotFound")
        return json_answer({"uri": uri, "cid": record.cid, "value": record.value})

    def listing(self, call: Call) -> Answer:
        """`listRecords`, newest key first."""
        query = call.request.query
        account = self._repository(query)
        limit = str(query.get("limit") or "50")
        if not limit.isdecimal() or not 1 <= int(limit) <= MOST_LISTED:
            raise Refused("limit must be between 1 and 100")
        records = [record for record in self._posts(account) if not self._is_hidden(record)]
        if query.get("collection") != POST:
            records = []
        is_reverse = query.get("reverse") == "true"
        records.sort(key=lambda record: record.rkey, reverse=not is_reverse)
        if cursor := query.get("cursor"):
            records = [one for one in records if (one.rkey > cursor if is_reverse else one.rkey < cursor)]
        page = records[: int(limit)]
        body: dict[str, Any] = {
            "records": [{"uri": one.uri, "cid": one.cid, "value": one.value} for one in page]
        }
        if len(page) == int(limit):
            body["cursor"] = page[-1].rkey
        return json_answer(body)

    def _own_body(self, call: Call) -> tuple[Account, dict[str, Any]]:
        assert call.account is not None  # noqa: S101 - the gate lets no one else in
        body = call.request.json
        if not isinstance(body, dict):
            raise Refused("Expected object value type (got null) at $")
        if not isinstance(body.get("repo"), str):
            raise Refused('Missing required key "repo" at $')
        owner = self._people.find(body["repo"])
        if owner is None:
            raise Refused("Account not found", error="AccountNotFound", status=403)
        if owner.name != call.account.name:
            raise Refused("Authentication Required", error="AuthenticationRequired", status=401)
        return call.account, body

    def _checked(self, account: Account, body: Mapping[str, Any], value: Any) -> _Write:
        collection, rkey = body.get("collection"), body.get("rkey")
        for name, given in (("collection", collection), ("rkey", rkey)):
            if not isinstance(given, str):
                raise Refused(f'Missing required key "{name}" at $')
        lexicon = Lexicon(str(collection), image_limit_bytes=self._switches.number("image_limit_bytes"))
        lexicon.check(value, str(rkey))
        try:
            cid = record_cid(value)
        except (ValueError, UnicodeEncodeError):
            raise Refused("Bad record") from None
        uri = _uri(account, str(collection), str(rkey))
        return _Write(str(collection), str(rkey), value, uri, cid)

    def _checked_creation(self, account: Account, given: Any) -> _Write:
        if not isinstance(given, dict) or given.get("$type") != "com.atproto.repo.applyWrites#create":
            raise Refused("Action not supported here: only creation is")
        return self._checked(account, {"rkey": _tid(), **given}, given.get("value"))

    def _media_of(self, account: Account, write: _Write) -> list[dict[str, Any]]:
        """What the ledger keeps of a post's files; refuses one that is not here."""
        return [self._blobs.media_of(account.name, blob, alt) for blob, alt in _blobs(write.value)]

    def _keep(self, account: Account, write: _Write, media: list[dict[str, Any]]) -> None:
        now = iso_milliseconds(datetime.now(UTC))
        if write.collection != POST:
            item = {"rkey": write.rkey, "cid": write.cid, "value": write.value, "created_at": now}
            self._world.shelf.put(self._platform, "record", write.uri, item=item)
            return
        parent = write.value.get("reply", {}).get("parent", {}).get("uri")
        if self._world.ledger.get(self._platform, write.uri) is not None:
            self._world.ledger.remove(self._platform, write.uri)
        self._world.ledger.publish(
            lambda _: Post(
                platform=self._platform,
                account=account.name,
                id=write.uri,
                text=write.value["text"],
                media=media,
                created_at=now,
                reply_to=parent,
                key=None,
                details={
                    "rkey": write.rkey,
                    "cid": write.cid,
                    "record": write.value,
                    **_shown_on_wall(write),
                },
            )
        )

    @staticmethod
    def _written(write: _Write, *, is_new: bool) -> Answer:
        shown = _shown(write)
        status = shown.pop("validationStatus")
        answer = json_answer({**shown, "commit": _commit(write), "validationStatus": status})
        answer.accepted = is_new and write.collection == POST
        return answer

    def _repository(self, query: Mapping[str, Any]) -> Account:
        account = self._people.find(query.get("repo"))
        if account is None:
            raise Refused(f"Could not find repo: {query.get('repo')}")
        return account

    def _record(self, uri: str) -> Record | None:
        post = self._world.ledger.get(self._platform, uri)
        if post is not None:
            return _record_of(post)
        item = self._world.shelf.get(self._platform, "record", uri)
        if item is None or item.get("gone"):
            return None
        collection = uri.split("/")[3]
        return Record(uri, collection, item["rkey"], item["cid"], item["value"], item["created_at"])

    def _posts(self, account: Account) -> list[Record]:
        return [_record_of(post) for post in self._world.ledger.posts(self._platform, account.name)]

    def _is_hidden(self, record: Record) -> bool:
        lag = timedelta(milliseconds=self._switches.number("read_lag_ms"))
        return bool(lag) and datetime.now(UTC) - datetime.fromisoformat(record.created_at) < lag


def _record_of(post: Post) -> Record:
    details = post.details
    return Record(post.id, POST, details["rkey"], details["cid"], details["record"], post.created_at)


def _shown(write: _Write) -> dict[str, Any]:
    return {"uri": write.uri, "cid": write.cid, "validationStatus": "valid"}


def _commit(write: _Write) -> dict[str, str]:
    """A commit has a CID and a revision of its own; nobody here looks into it."""
    rev = _tid()
    return {"cid": record_cid({"rev": rev, "cid": write.cid}), "rev": rev}


def _blobs(record: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The files of a post in order, each with its description."""
    embed = record.get("embed", {})
    if embed.get("$type") == "app.bsky.embed.images":
        return [(image["image"], str(image.get("alt") or "")) for image in embed["images"]]
    if embed.get("$type") == "app.bsky.embed.video":
        return [(embed["video"], str(embed.get("alt") or ""))]
    return []


def _shown_on_wall(write: _Write) -> dict[str, Any]:
    """Language and content warning, where the wall looks for them."""
    labels = [label.get("val", "") for label in write.value.get("labels", {}).get("values", [])]
    shown: dict[str, Any] = {"spoiler_text": f"Content warning: {', '.join(labels)}"} if labels else {}
    return {**shown, **({"language": write.value["langs"][0]} if write.value.get("langs") else {})}


def _uri(account: Account, collection: str, rkey: str) -> str:
    return f"at://{did_of(account)}/{collection}/{rkey}"


def _tid() -> str:
    """A key of now: microseconds since 1970 and ten random bits, 13 letters."""
    number = time.time_ns() // 1_000 << 10 | secrets.randbits(10)
    return "".join(TID_LETTERS[number >> shift & 31] for shift in range(60, -1, -5))
