"""The fields of the settings: what each means, its unit, its default, its special values.

Arrives: values by field name. Leaves: a frozen `Settings`. What must stay true: a field's unit stands in its
name, and a validator's message never repeats the value.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PREFIX = "SOCIALQ_"
KEY_BYTES = 32

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]
UNSET = SecretStr("")


def variable(field_name: str) -> str:
    """The environment variable of a field: ``lease_seconds`` → ``SOCIALQ_LEASE_SECONDS``."""
    return f"{PREFIX}{field_name.upper()}"


def decode_key(text: str) -> bytes:
    """The 32 bytes of a key in base64 (standard or URL-safe). Raises ValueError without showing the text."""
    try:
        key = base64.b64decode(text.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(
            "is not base64; it must be base64 of exactly 32 bytes; `socialq key new` prints one"
        ) from None
    if len(key) != KEY_BYTES:
        raise ValueError(
            f"is {len(key)} bytes long; it must be base64 of exactly 32 bytes; `socialq key new` prints one"
        )
    return key


def parse_old_keys(text: str) -> dict[str, bytes]:
    """Keys by id from `id=base64,id=base64`. Raises ValueError without showing the text."""
    keys: dict[str, bytes] = {}
    for position, pair in enumerate(filter(None, (part.strip() for part in text.split(","))), start=1):
        key_id, separator, encoded = pair.partition("=")
        if not separator or not key_id.strip():
            raise ValueError(f"entry {position} is not an `id=base64` pair; write k0=BASE64,k1=BASE64")
        try:
            keys[key_id.strip()] = decode_key(encoded)
        except ValueError as error:
            raise ValueError(f"entry {position} {error}") from None
    return keys


def _require_url(value: SecretStr, *, schemes: Sequence[str], example: str) -> None:
    text = value.get_secret_value()
    if not text:
        return
    try:
        parts = urlsplit(text)
        # A PostgreSQL socket's folder stands in the query: postgresql:///name?host=/run/postgresql
        placed = bool(parts.hostname) or ("host=" in parts.query and parts.scheme.startswith("postgres"))
        usable = parts.scheme in schemes and placed and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(f"is not a usable address; write {example}")


class Settings(BaseSettings):
    """Everything that can be set. Build it with `load_settings`, which alone reads the environment."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    database_url: SecretStr = UNSET
    """PostgreSQL (15 or later) of the central store, as the runtime role logs in. Empty: not set."""
    owner_database_url: SecretStr = UNSET
    """The same database as its owner, for `socialq db upgrade` only. Empty: SOCIALQ_DATABASE_URL."""
    redis_url: SecretStr = UNSET
    """Redis 6.2 or later, or Valkey: redis:// or rediss://. Empty: not set."""
    encryption_key: SecretStr = UNSET
    """Base64 of exactly 32 bytes; encrypts stored credentials. Empty: not set."""
    encryption_key_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")] = "k1"
    """The name that values encrypted with SOCIALQ_ENCRYPTION_KEY carry. Change it together with the key."""
    encryption_old_keys: SecretStr = UNSET
    """Earlier keys that still decrypt: `id=base64` pairs, comma between them. Empty: none."""
    secret_key: SecretStr = UNSET
    """Signs web sessions; 32 characters or more. Empty: not set."""

    home: Path = Path(".socialq")
    """Folder of the bundled servers, development keys and media."""
    media_storage: str = ""
    """fsspec URL under which media is kept. Empty: `file://` in the folder `media` of SOCIALQ_HOME."""
    public_url: str = ""
    """Address under which platforms reach this web, https://HOST, for those that fetch media. Empty: they can't."""
    clamav_url: str = ""
    """clamd that looks at every file before it can be posted: tcp://HOST:PORT or unix:///PATH. While it can't be
    asked no file becomes ready. Empty: files are not scanned."""
    sandbox_url: str = ""
    """Base address of a running `socialq sandbox`, http:// or https://. Empty: no sandbox."""
    allow_private_addresses: bool = False
    """Lets adapters and webhooks call private and loopback addresses. For development only."""

    lease_seconds: Seconds = 90.0
    """How long a claim lasts. More than one publish request can take, so a live holder is never doubted."""
    publish_deadline_seconds: Seconds = 30.0
    """Total time of the one request that makes a part public, on the worker's monotonic clock."""
    connect_timeout_seconds: Seconds = 5.0
    """Time to open a connection to a platform."""
    prepare_deadline_seconds: Annotated[float, Field(gt=0, le=80, allow_inf_nan=False)] = 60.0
    """Total time of one request that publishes nothing, such as an upload, or of one look. 80 at most: whoever
    prepares or refreshes a token holds it for 90 s and more."""
    mark_to_send_seconds: Seconds = 5.0
    """No request starts longer than this after its mark was asked for."""
    retry_base_seconds: Seconds = 60.0
    """The first wait after a transient failure; it doubles, with full jitter."""
    retry_cap_seconds: Seconds = 3600.0
    """The longest wait between two attempts."""
    retry_budget: Count = 5
    """Transient failures of one target before it fails."""
    publish_by_hours: Seconds = 24.0
    """Hours after its time at which an unsent target expires."""
    past_grace_minutes: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 15.0
    """Minutes a given time may lie in the past and still mean "now". 0: never."""
    look_delays_seconds: Annotated[tuple[Seconds, ...], NoDecode, Field(min_length=1)] = (10.0, 60.0, 300.0)
    """When to look for a post of unknown outcome, counted from when its request can no longer run; rising."""
    look_again_seconds: Seconds = 3600.0
    """The late look after a retry that followed an unknown outcome."""
    window_seconds: Seconds = 60.0
    """How long one relay or dispatch tick keeps watching before its successor takes over."""
    rescan_seconds: Seconds = 5.0
    """The longest pause between two scans of a window."""
    resend_base_seconds: Seconds = 15.0
    """How old an unanswered message is when it is sent again the first time; it doubles."""
    resend_cap_seconds: Seconds = 600.0
    """The longest pause between two re-sends of one message."""
    dispatch_batch: Count = 200
    """Targets picked in one dispatch transaction."""
    max_enqueued: Count = 2000
    """Targets enqueued and unanswered at most; the dispatcher pauses there."""
    max_enqueued_per_tenant: Count = 1000
    """Of those, at most this many of one tenant."""
    max_slow_per_platform: Count = 256
    """Once this many messages of one platform have been out for over a second, no more are sent until some
    return: a platform that hangs takes only its share of the workers. Less than the publishing threads in all."""
    relay_batch: Count = 500
    """Outbox events relayed in one transaction."""
    drain_seconds: Seconds = 45.0
    """How long a stopping worker gives to what is under way."""
    suspension_grace_hours: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 24.0
    """Hours for which the scheduled targets of a suspended tenant wait before they fail. 0: at once."""
    guard_wait_seconds: Seconds = 60.0
    """The wait a guard gives when the platform named no time."""
    publishing_concurrency: Count = 32
    """Threads of one publishing worker."""
    platform_share: Annotated[float, Field(gt=0, le=1)] = 0.75
    """The share of a publishing worker's threads that one platform may take. 1: all of them."""
    preparing_concurrency: Count = 8
    """Threads of one preparing worker."""
    control_concurrency: Annotated[int, Field(ge=6)] = 12
    """Threads of one control worker; four are held by the relay and dispatch windows and their successors."""

    canary_seconds: Seconds = 10.0
    """How often a worker sends itself a message, to see that it still consumes."""
    deaf_seconds: Seconds = 90.0
    """A worker with a free slot that received nothing for so long, though Redis answers, ends and is restarted."""
    stuck_seconds: Seconds = 900.0
    """A worker whose slots were all held for so long, without one being freed, ends and is restarted."""
    canary_file: str = ""
    """A file that a worker touches whenever it consumed its canary, for a container's health check. Empty: none."""
    alarm_urls: SecretStr = UNSET
    """Where alarms are sent: Apprise addresses (mailto://…, slack://…, json://…), spaces between. Empty: nowhere."""
    deadman_url: SecretStr = UNSET
    """Asked for by `socialq watch` after each look: a service that alarms when that stops. Empty: none."""
    watch_seconds: Seconds = 30.0
    """How often `socialq watch` looks."""
    late_seconds: Seconds = 120.0
    """A slot that passed longer ago than this, without publication or a reason, alarms."""
    silent_seconds: Seconds = 30.0
    """A window, or beat, that was not seen for so long alarms."""
    breaker_troubles: Count = 5
    """So many unknown outcomes and policy refusals of one account within the window hold it."""
    breaker_window_seconds: Seconds = 1800.0
    """How long those of an account are remembered."""
    breaker_hold_seconds: Seconds = 3600.0
    """How long such an account is held; a person may lift it before."""
    breaker_accounts: Count = 20
    """So many accounts of one platform with an unknown outcome or a policy refusal within a minute hold it."""
    breaker_platform_hold_seconds: Seconds = 120.0
    """How long such a platform is held."""
    webhook_tries: Count = 12
    """How often an event is sent to a webhook before it is given up; the waits double, from 10 s to 2 hours."""
    prune_done_days: Seconds = 7.0
    """Days for which the dispatch index keeps rows that are done."""
    prune_outbox_days: Seconds = 3.0
    """Days for which relayed outbox events are kept."""
    prune_deliveries_days: Seconds = 30.0
    """Days for which deliveries to webhooks are kept once they were taken or given up."""
    vacuum_held_seconds: Seconds = 600.0
    """How long a transaction or a replication slot may keep vacuum from its work before it alarms."""

    web_host: str = "127.0.0.1"
    """Address that the web listens on."""
    web_port: Port = 8080
    """Port that the web listens on."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least level that is logged."""
    log_format: Literal["json", "console"] = "json"
    """One JSON object a line, or lines for people."""
    statement_timeout_seconds: Seconds = 30.0
    """PostgreSQL ends a statement that runs longer."""
    database_pool_size: Count = 20
    """Pooled connections of one process; the windows' direct connections come on top."""

    @classmethod
    def settings_customise_sources(  # pydantic-settings fixes this signature
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments only: `load_settings` reads the environment, joins files, refuses unknown names."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @model_validator(mode="before")
    @classmethod
    def _fill_derived(cls, values: dict[str, Any]) -> dict[str, Any]:
        home = Path(values.get("home") or ".socialq").expanduser().absolute()
        filled = {**values, "home": home}
        filled["owner_database_url"] = values.get("owner_database_url") or values.get("database_url") or UNSET
        filled["media_storage"] = values.get("media_storage") or f"file://{home / 'media'}"
        return filled

    @field_validator("look_delays_seconds", mode="before")
    @classmethod
    def _split_list(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @field_validator("log_level", "log_format", mode="before")
    @classmethod
    def _ignore_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("database_url", "owner_database_url")
    @classmethod
    def _is_postgresql(cls, value: SecretStr) -> SecretStr:
        _require_url(
            value, schemes=("postgresql", "postgres"), example="postgresql://USER:PASSWORD@HOST:PORT/NAME"
        )
        return value

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, value: SecretStr) -> SecretStr:
        _require_url(value, schemes=("redis", "rediss"), example="redis://HOST:PORT/0")
        return value

    @field_validator("sandbox_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        _require_url(SecretStr(value), schemes=("http", "https"), example="http://127.0.0.1:PORT")
        return value.rstrip("/")

    @field_validator("public_url")
    @classmethod
    def _is_public(cls, value: str) -> str:
        _require_url(SecretStr(value), schemes=("http", "https"), example="https://posts.example.com")
        split = urlsplit(value)
        if split.username is not None or split.query or split.fragment:
            raise ValueError("holds more than an address; give https://HOST, and a path if there is one")
        return value.rstrip("/")

    @field_validator("clamav_url")
    @classmethod
    def _is_clamd(cls, value: str) -> str:
        split = urlsplit(value)
        if value and not (
            (split.scheme == "tcp" and split.hostname) or (split.scheme == "unix" and split.path)
        ):
            raise ValueError(
                "is not the address of clamd; give tcp://HOST:3310 or unix:///run/clamav/clamd.ctl"
            )
        return value

    @field_validator("alarm_urls")
    @classmethod
    def _are_addresses(cls, value: SecretStr) -> SecretStr:
        for number, word in enumerate(value.get_secret_value().split(), start=1):
            if "://" not in word:
                raise ValueError(
                    f"word {number} is no address; write Apprise addresses with a space between them"
                )
        return value

    @field_validator("deadman_url")
    @classmethod
    def _is_asked_for(cls, value: SecretStr) -> SecretStr:
        _require_url(value, schemes=("http", "https"), example="https://HOST/PATH")
        return value

    @field_validator("encryption_key")
    @classmethod
    def _is_key(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value():
            decode_key(value.get_secret_value())
        return value

    @field_validator("encryption_old_keys")
    @classmethod
    def _are_keys(cls, value: SecretStr) -> SecretStr:
        parse_old_keys(value.get_secret_value())
        return value

    @field_validator("secret_key")
    @classmethod
    def _is_long(cls, value: SecretStr) -> SecretStr:
        if 0 < len(value.get_secret_value()) < KEY_BYTES:
            raise ValueError(
                "is too short; give 32 or more random characters (`socialq key new` prints some)"
            )
        return value

    def encryption_keys(self) -> dict[str, bytes]:
        """All keys by id, the active one under ``encryption_key_id``. Empty if no key is set."""
        keys = parse_old_keys(self.encryption_old_keys.get_secret_value())
        if self.encryption_key.get_secret_value():
            keys[self.encryption_key_id] = decode_key(self.encryption_key.get_secret_value())
        return keys

    def secret_values(self) -> Iterator[str]:
        """Every secret that is set, for the log redaction's registry."""
        for value in (getattr(self, name) for name in type(self).model_fields):
            if isinstance(value, SecretStr) and value.get_secret_value():
                yield value.get_secret_value()


SECRET_FIELDS = tuple(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr)
"""The fields that may come as ``…_FILE`` and are never shown."""
