"""What records a PDS takes: the lexicons of a post and of its thread's gate.

Arrives: a record as JSON. Leaves: nothing, or a refusal in a PDS's own words. As there, `facets` may point beyond
the text, and a parent need not exist. Source: the lexicons app.bsky.feed.post, .threadgate and app.bsky.embed.*.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import regex

from socialq.sandbox.bluesky.cids import is_cid
from socialq.sandbox.bluesky.errors import Refused, invalid_record
from socialq.sandbox.bluesky.people import DID

POST = "app.bsky.feed.post"
THREADGATE = "app.bsky.feed.threadgate"
MOST_GRAPHEMES = 300
MOST_BYTES = 3_000
MOST_IMAGES = 4
VIDEO_LIMIT_BYTES = 100_000_000

_TID = re.compile(r"[234567abcdefghij][234567abcdefghijklmnopqrstuvwxyz]{12}")
_AT_URI = re.compile(r"at://did:[a-z]+:[a-zA-Z0-9._:%-]+/[a-zA-Z0-9.-]+/[a-zA-Z0-9._~:-]{1,512}")
_URI = re.compile(r"[a-z][a-z.-]{0,80}:\S+")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_GRAPHEME = regex.compile(r"\X")


class Lexicon:
    """Checks one record. `image_limit_bytes` differs between servers."""

    def __init__(self, collection: str, *, image_limit_bytes: int) -> None:
        self._collection = collection
        self._image_limit_bytes = image_limit_bytes

    def check(self, record: Any, rkey: str) -> None:
        """Raises `Refused`."""
        if self._collection not in {POST, THREADGATE}:
            raise Refused(f"Unknown lexicon type: {self._collection}")
        if not isinstance(record, dict) or record.get("$type") != self._collection:
            given = record.get("$type") if isinstance(record, dict) else None
            raise Refused(f"Invalid $type: expected {self._collection}, got {given}")
        if not _TID.fullmatch(rkey):
            message = f'Invalid TID string (got "{rkey}") at $'
            raise Refused(f"Invalid record key for {self._collection}: {message}")
        self._check_time(record)
        if self._collection == POST:
            self._check_post(record)
        else:
            self._at_uri(record, "post", ".post")

    def _check_post(self, record: dict[str, Any]) -> None:
        self._check_text(record)
        langs = self._list(record, "langs", "", most=3)
        for number, lang in enumerate(langs):
            if not isinstance(lang, str) or not _LANGUAGE.fullmatch(lang):
                raise self._wrong(f'Invalid language (got "{lang}")', f".langs[{number}]")
        for number, facet in enumerate(self._list(record, "facets", "")):
            self._check_facet(facet, f".facets[{number}]")
        if "reply" in record:
            for end in ("root", "parent"):
                reference = self._object(record["reply"], end, f".reply.{end}")
                self._at_uri(reference, "uri", f".reply.{end}.uri")
                if not is_cid(reference.get("cid")):
                    raise self._wrong("Invalid CID string", f".reply.{end}.cid")
        if "embed" in record:
            self._check_embed(self._object(record, "embed", ".embed"))

    def _check_text(self, record: dict[str, Any]) -> None:
        text = self._text(record, "text", "")
        if len(text.encode("utf-8", "replace")) > MOST_BYTES:
            size = len(text.encode("utf-8", "replace"))
            raise self._wrong(f"string too big (maximum {MOST_BYTES}, got {size})", ".text")
        graphemes = sum(1 for _ in _GRAPHEME.finditer(text))
        if graphemes > MOST_GRAPHEMES:
            raise self._wrong(f"grapheme too big (maximum {MOST_GRAPHEMES}, got {graphemes})", ".text")

    def _check_time(self, record: dict[str, Any]) -> None:
        created_at = self._text(record, "createdAt", "")
        try:
            is_aware = datetime.fromisoformat(created_at).tzinfo is not None
        except ValueError:
            is_aware = False
        if not is_aware:
            raise self._wrong(f'Invalid datetime (got "{created_at}")', ".createdAt")

    def _check_facet(self, facet: Any, where: str) -> None:
        index = self._object(facet, "index", f"{where}.index")
        for name in ("byteStart", "byteEnd"):
            value = index.get(name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise self._wrong("Expected integer value type", f"{where}.index.{name}")
        for number, feature in enumerate(self._list(facet, "features", where)):
            here = f"{where}.features[{number}]"
            match feature.get("$type") if isinstance(feature, dict) else None:
                case "app.bsky.richtext.facet#mention":
                    did = self._text(feature, "did", here)
                    if not DID.fullmatch(did):
                        raise self._wrong(f'Invalid DID (got "{did}")', f"{here}.did")
                case "app.bsky.richtext.facet#link":
                    self._uri(feature, "uri", here)
                case "app.bsky.richtext.facet#tag":
                    tag = self._text(feature, "tag", here)
                    if len(tag.encode()) > 640 or sum(1 for _ in _GRAPHEME.finditer(tag)) > 64:
                        raise self._wrong("grapheme too big (maximum 64)", f"{here}.tag")

    def _check_embed(self, embed: dict[str, Any]) -> None:
        match embed.get("$type"):
            case "app.bsky.embed.images":
                images = self._list(embed, "images", ".embed", most=MOST_IMAGES)
                for number, image in enumerate(images):
                    where = f".embed.images[{number}]"
                    self._check_blob(image, "image", where, accept="image/", limit=self._image_limit_bytes)
                    self._text(image, "alt", where)
                    self._ratio(image, where)
            case "app.bsky.embed.video":
                self._check_blob(embed, "video", ".embed", accept="video/mp4", limit=VIDEO_LIMIT_BYTES)
                self._ratio(embed, ".embed")
            case "app.bsky.embed.external":
                external = self._object(embed, "external", ".embed.external")
                self._uri(external, "uri", ".embed.external")
                for name in ("title", "description"):
                    self._text(external, name, ".embed.external")

    def _check_blob(self, parent: Any, name: str, where: str, *, accept: str, limit: int) -> None:
        blob = self._object(parent, name, f"{where}.{name}")
        reference = self._object(blob, "ref", f"{where}.{name}.ref")
        if not is_cid(reference.get("$link")):
            raise self._wrong("Expected blob value type", f"{where}.{name}")
        mime, size = str(blob.get("mimeType")), blob.get("size")
        if not mime.startswith(accept):
            wanted = accept if "/" in accept.rstrip("/") else f"{accept}*"
            raise self._wrong(f'Expected "{wanted}" (got "{mime}")', f"{where}.{name}.mimeType")
        if isinstance(size, bool) or not isinstance(size, int):
            raise self._wrong("Expected integer value type", f"{where}.{name}.size")
        if size > limit:
            raise self._wrong(f"blob too big (maximum {limit}, got {size})", f"{where}.{name}")

    def _ratio(self, parent: dict[str, Any], where: str) -> None:
        if "aspectRatio" not in parent:
            return
        ratio = self._object(parent, "aspectRatio", f"{where}.aspectRatio")
        for name in ("width", "height"):
            value = ratio.get(name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise self._wrong("Expected integer value type", f"{where}.aspectRatio.{name}")
            if value < 1:
                raise self._wrong(
                    f"integer too small (minimum 1, got {value})", f"{where}.aspectRatio.{name}"
                )

    def _uri(self, parent: Mapping[str, Any], name: str, where: str) -> None:
        uri = self._text(parent, name, where)
        if not _URI.fullmatch(uri):
            raise self._wrong(f'Invalid URI (got "{uri}")', f"{where}.{name}")

    def _at_uri(self, parent: Mapping[str, Any], name: str, where: str) -> None:
        uri = parent.get(name)
        if not isinstance(uri, str) or not _AT_URI.fullmatch(uri):
            raise self._wrong(f'Invalid at-uri (got "{uri}")', where)

    def _text(self, parent: Any, name: str, where: str) -> str:
        if not isinstance(parent, dict) or name not in parent:
            raise self._wrong(f'Missing required key "{name}"', where)
        if not isinstance(parent[name], str):
            raise self._wrong(f"Expected string value type (got {parent[name]})", f"{where}.{name}")
        return str(parent[name])

    def _object(self, parent: Any, name: str, where: str) -> dict[str, Any]:
        value = parent.get(name) if isinstance(parent, dict) else None
        if not isinstance(value, dict):
            raise self._wrong("Expected object value type", where)
        return value

    def _list(self, parent: Any, name: str, where: str, *, most: int | None = None) -> list[Any]:
        value = parent.get(name, []) if isinstance(parent, dict) else None
        if not isinstance(value, list):
            raise self._wrong("Expected array value type", f"{where}.{name}")
        if most is not None and len(value) > most:
            raise self._wrong(f"array too big (maximum {most}, got {len(value)})", f"{where}.{name}")
        return value

    def _wrong(self, why: str, where: str) -> Refused:
        return invalid_record(self._collection, why, where)
