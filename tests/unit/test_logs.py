"""The logs: structured, bound to their target, and without secrets whoever wrote them."""

import http.client
import io
import json
import logging
import sys
import threading
import time
import timeit
from contextlib import redirect_stdout

import pytest
import structlog

from socialq.logs import bind, clear, configure_logging, get_logger, redact, register_secret
from socialq.logs.redaction import _Registry

SECRET = "hunter2hunter2"


@pytest.fixture
def restored():
    """The process's logging as it was before the test."""
    root = logging.getLogger()
    before = (
        root.level,
        logging.raiseExceptions,
        logging.getLogRecordFactory(),
        sys.excepthook,
        threading.excepthook,
    )
    yield
    for handler in [known for known in root.handlers if known.get_name() == "socialq"]:
        root.removeHandler(handler)
    root.setLevel(before[0])
    logging.raiseExceptions = before[1]
    logging.setLogRecordFactory(before[2])
    sys.excepthook, threading.excepthook = before[3], before[4]
    logging.captureWarnings(capture=False)
    vars(http.client).pop("print", None)
    structlog.reset_defaults()
    clear()


@pytest.fixture
def lines(restored, monkeypatch):
    """Configure JSON logs into memory; calling the result gives the entries so far."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logging("debug", "json")

    def entries():
        return [json.loads(line) for line in stream.getvalue().splitlines()]

    entries.stream = stream
    return entries


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"authorization: Basic {SECRET}==",
        f"Cookie: session={SECRET}; other=1",
        f'Set-Cookie: sid="{SECRET}"; HttpOnly',
        f"send: b'POST /api HTTP/1.1\\r\\nAuthorization: Bearer {SECRET}\\r\\n'",
        f"{{'Authorization': 'Bearer {SECRET}', 'Accept': '*/*'}}",
        f"[('Authorization', 'Bearer {SECRET}')]",
        f"{{b'Authorization': b'Bearer {SECRET}'}}",
        f"sent Bearer {SECRET} to the platform",
        f"https://graph.example/me?fields=id&access_token={SECRET}&limit=1",
        f"/oauth?client_secret={SECRET}",
        f"url=https%3A%2F%2Fx%2F%3Faccess_token%3D{SECRET}",
        f"grant_type=refresh_token&refresh_token={SECRET}",
        f'{{"access_token": "{SECRET}", "expires_in": 3600}}',
        f'{{"password":"{SECRET}"}}',
        f'{{"password":"a\\"{SECRET}"}}',
        f'{{"body": "{{\\"refresh_token\\": \\"{SECRET}\\"}}"}}',
        f"password: {SECRET}",
        f"connect(password='{SECRET}', host='db')",
        f"postgresql://app:{SECRET}@db:5432/socialq",
        f"postgresql://app:p@{SECRET}@db:5432/socialq",
        f"redis://:{SECRET}@cache:6379/0",
        f"v1.k1.{SECRET}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        f"gAAAAAB{SECRET}AAAAAAAAAAAAAAAA==",
        f"eyJhbGciOiJIUzI1NiJ9.eyJ{SECRET}.c2lnbmF0dXJl",
        f"SOCIALQ_SECRET_KEY={SECRET}",
    ],
)
def test_secrets_are_taken_out_of_text(text):
    """Headers, parameters, JSON, userinfo, vault values and tokens, as programs print them."""
    assert SECRET not in redact(text)
    assert "***" in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "target 0190-77 published as 112233 in 84 ms",
        "Error validating access token: Session has expired on Monday",
        "GET https://mastodon.example/api/v1/statuses/1?limit=40 200",
        "http://127.0.0.1:8080/healthz answered",
        "http://127.0.0.1:8080/search?q=a@b",
        '{"event": "cookie banner", "tokens_left": 5, "keys": ["a"]}',
        "the key is (target, lane); the author is nobody",
        "10:20:30 v1.2.3 eyJ",
    ],
)
def test_ordinary_text_stays_as_it_is(text):
    """Redaction does not eat what people need to read."""
    assert redact(text) == text


def test_only_the_secret_part_goes():
    """What stands around a secret stays readable."""
    assert (
        redact(f"GET /me?access_token={SECRET}&limit=1 failed") == "GET /me?access_token=***&limit=1 failed"
    )
    assert redact(f"postgresql://app:{SECRET}@db/x") == "postgresql://app:***@db/x"
    assert redact(f'{{"access_token": "{SECRET}", "id": 1}}') == '{"access_token": "***", "id": 1}'
    assert redact(f"Cookie: a={SECRET}\nHost: x") == "Cookie: ***\nHost: x"


def test_redacting_twice_changes_nothing():
    """A line that passes two handlers looks like one that passed one."""
    once = redact(f"Authorization: Bearer {SECRET}\n?access_token={SECRET} password: {SECRET}")
    assert redact(once) == once


def test_a_registered_secret_is_masked_in_every_spelling():
    """As it is, percent-encoded and as repr; short values are left alone."""
    register_secret("p@ss'w/rd\\9 end")
    register_secret("short")
    text = "a p@ss'w/rd\\9 end b p%40ss%27w%2Frd%5C9%20end c " + repr({"x": "p@ss'w/rd\\9 end"}) + " short"
    shown = redact(text)
    assert "w/rd" not in shown
    assert "w%2Frd" not in shown
    assert "short" in shown


def test_the_registry_is_bounded(monkeypatch):
    """The oldest secrets give way, and forgotten ones leave nothing behind."""
    monkeypatch.setattr("socialq.logs.redaction.SECRETS_KEPT", 10)
    registry = _Registry()
    for number in range(100):
        registry.add(f"secret-{number:03}")
    assert registry.mask("secret-000 secret-099") == "secret-000 ***"
    assert len(registry._forms) == 10
    assert sum(map(len, registry._by_head.values())) == 10


def test_redaction_is_cheap_on_ordinary_lines_and_linear_on_hostile_ones():
    """An ordinary line costs far under a millisecond, and hostile text is no trap."""
    for number in range(1000):
        register_secret(f"registered-{number}-secret")
    line = "target 01907730-aaaa published as 112233 on account 7 in 84 ms after 1 attempt"
    assert (
        min(timeit.repeat(lambda: redact(line), timer=time.process_time, number=200, repeat=5)) / 200 < 0.0005
    )
    for unit in ("token", "password ", "://a:", "eyJ", "authorization", "'token'", "v1.", '\\"token\\":\\"'):
        short, long = unit * 2000, unit * 8000
        cost = [
            min(timeit.repeat(lambda text=text: redact(text), timer=time.process_time, number=1, repeat=3))
            for text in (short, long)
        ]
        assert cost[1] < max(cost[0] * 10, 0.05), unit


def test_an_entry_is_one_json_object_with_its_bound_fields(lines):
    """Tenant, target and attempt are bound once and stand in every entry until cleared."""
    bind(tenant="t1", target="p1", attempt=2)
    get_logger("socialq.pipeline").info("published", remote_id="42")
    logging.getLogger("urllib3").warning("retrying %s", "/api")
    clear()
    get_logger("socialq.pipeline").info("idle")
    first, second, third = lines()
    assert (first["event"], first["remote_id"], first["level"]) == ("published", "42", "info")
    assert [(entry["tenant"], entry["target"], entry["attempt"]) for entry in (first, second)] == [
        ("t1", "p1", 2)
    ] * 2
    assert second["event"] == "retrying /api"
    assert "tenant" not in third


def test_values_under_sensitive_keys_are_masked_at_any_depth(lines):
    """A structured secret is known by its key, whatever it looks like."""
    get_logger("x").info(
        "request",
        access_token="abc",
        headers={"Authorization": ["abc"], "Accept": "*/*"},
        list=[{"password": "abc"}],
    )
    (entry,) = lines()
    assert "abc" not in json.dumps(entry)
    assert entry["headers"]["Accept"] == "*/*"


def test_objects_are_shown_redacted(lines):
    """An object whose text has a secret in it, such as an exception, is cleaned like text."""
    get_logger("x").info("failed", error=ValueError(f"GET /?access_token={SECRET}"))
    assert SECRET not in json.dumps(lines())


def test_tracebacks_are_redacted_for_our_and_foreign_loggers(lines):
    """Message and source lines of an exception go through redaction."""
    for log in (get_logger("x").exception, logging.getLogger("celery.worker").exception):
        try:
            raise RuntimeError(f"Authorization: Bearer {SECRET}")
        except RuntimeError:
            log("task failed")
    entries = lines()
    assert [entry["event"] for entry in entries] == ["task failed"] * 2
    assert all("RuntimeError" in entry["exception"] for entry in entries)
    assert SECRET not in json.dumps(entries)


def test_a_handler_that_a_library_adds_gets_clean_records(lines):
    """Redaction stands before the handlers, so that none can be forgotten."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("stranger")
    logger.addHandler(handler)
    try:
        logger.warning("GET /?access_token=%s", SECRET)
        try:
            raise ValueError(f"password={SECRET}")
        except ValueError:
            logger.exception("broken")
        get_logger("stranger").error("ours", body=f"refresh_token={SECRET}")
    finally:
        logger.removeHandler(handler)
    assert SECRET not in stream.getvalue()
    assert all(
        known in stream.getvalue() for known in ("token=***", "ValueError: password=***", "_token=***")
    )


def test_a_log_call_with_wrong_arguments_shows_nothing_and_breaks_nothing(lines, capsys):
    """The standard library would print the arguments to standard error."""
    logging.getLogger("x").warning("%d", SECRET)
    (entry,) = lines()
    assert "do not fit" in entry["event"]
    assert SECRET not in json.dumps(entry) + capsys.readouterr().err


def test_http_client_prints_nothing_even_when_asked(restored):
    """Its debug output shows headers and bodies; it stays silent at any level."""
    configure_logging("debug", "json")
    printed = io.StringIO()
    connection = http.client.HTTPConnection("127.0.0.1", 1)
    assert connection.debuglevel == 0
    connection.set_debuglevel(1)
    connection.sock = type("Sink", (), {"sendall": lambda self, data: None, "close": lambda self: None})()
    with redirect_stdout(printed):
        connection.request("GET", "/", headers={"Authorization": f"Bearer {SECRET}"})
        connection.close()
    assert printed.getvalue() == ""


def test_configuring_twice_logs_once(lines, monkeypatch):
    """Celery's signal and the command may both configure."""
    monkeypatch.setattr(sys, "stderr", lines.stream)
    configure_logging("info", "json")
    get_logger("x").info("once")
    get_logger("x").debug("below the level")
    assert [entry["event"] for entry in lines()] == ["once"]


def test_sqlalchemy_does_not_log_bound_values(lines):
    """At its own info level it would log post texts; it stays at warning whatever we log."""
    logging.getLogger("sqlalchemy.engine.Engine").info("INSERT INTO posts … ('the text',)")
    assert lines() == []


def test_lines_for_people_are_redacted_too(restored, monkeypatch):
    """The console format passes the same redaction, tracebacks included and without local variables."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    configure_logging("info", "console")
    local_variable = SECRET
    try:
        raise ValueError(f"token={local_variable}")
    except ValueError:
        get_logger("x").exception("broken", cookie=local_variable)
    assert "ValueError" in stream.getvalue()
    assert SECRET not in stream.getvalue()


def test_uncaught_errors_are_redacted(lines, monkeypatch):
    """What ends a process or a thread is shown without secrets."""
    monkeypatch.setattr(sys, "stderr", lines.stream)
    error = RuntimeError(f"password={SECRET}")
    thread = threading.Thread(target=lambda: (_ for _ in ()).throw(error), name="publisher-1")
    thread.start()
    thread.join()
    (entry,) = lines()
    assert "publisher-1" in entry["event"]
    sys.excepthook(RuntimeError, error, None)
    assert "RuntimeError: password=***" in lines.stream.getvalue()
    assert SECRET not in lines.stream.getvalue()
