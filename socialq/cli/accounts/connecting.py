"""`socialq account connect`: a person agrees on the platform's page, and picks what is connected.

The browser comes back to a port of this machine. Where it can't (it runs on another), the address that it was
sent to is given by hand, in a second call: what is under way is kept in the database, not in this process.
"""

from __future__ import annotations

import sys
import webbrowser
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

import click

from socialq.cli.accounts.loopback import Loopback
from socialq.cli.client import tenant_option
from socialq.cli.failures import Failure
from socialq.cli.opening import actor, opened
from socialq.cli.output import json_option, print_json

if TYPE_CHECKING:
    from socialq.desk.connect import Account
    from socialq.desk.consent import Begun, Choice, Offer
    from socialq.providers.base import AppCredentials
    from socialq.wiring import Wiring

_PORT: Final = 8765
_ALL: Final = "all"


@click.command("connect")
@click.argument("platform")
@tenant_option
@click.option("--client", help="Name or id of the brand that the account is for.")
@click.option("--account", help="An account that is known: it gets new tokens and keeps its posts.")
@click.option("--base-url", help="The server's address; without it the platform's own.")
@click.option(
    "--sandbox", is_flag=True, help="Connect to the running sandbox, with an application made there."
)
@click.option("--client-id", help="The OAuth application's id, if socialq does not know it yet (`app add`).")
@click.option(
    "--client-secret-file",
    type=click.File(encoding="utf-8"),
    help="A file with its secret; none for a public one.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), default=_PORT, show_default=True, help="Where to come back."
)
@click.option("--web", is_flag=True, help="Come back to socialq's web instead, and pick there.")
@click.option("--browser/--no-browser", default=None, help="Open the address; at a terminal it is opened.")
@click.option(
    "--redirected-to", metavar="ADDRESS", help="Where the browser was sent; - to read it from standard input."
)
@click.option("--pick", multiple=True, help="A channel's name or id, or all; without it you are asked.")
@click.option("--identifier", help="Who signs in, where that takes an app password: the handle.")
@click.option(
    "--token-file",
    type=click.File(encoding="utf-8"),
    help="A file with the app password; - for standard input. Without it you are asked.",
)
@json_option
def connect(
    *,
    platform: str,
    tenant: str,
    client: str | None,
    account: str | None,
    base_url: str | None,
    sandbox: bool,
    client_id: str | None,
    client_secret_file: IO[str] | None,
    port: int,
    web: bool,
    browser: bool | None,
    redirected_to: str | None,
    pick: tuple[str, ...],
    identifier: str | None,
    token_file: IO[str] | None,
    as_json: bool,
) -> None:
    """Connect an account by its owner's consent on the platform's own page, or by an app password.

    Where the browser runs on another machine, copy the address that it was sent back to, and call this again
    with --redirected-to. An account that is known already gets the new tokens and keeps its posts.
    """
    from socialq.cli.accounts.signing_in import connect_by_password
    from socialq.desk.connect import known_adapter
    from socialq.providers.registry import adapter_for

    with opened(require=("database", "encryption_key")) as wiring:
        adapter = known_adapter(platform, adapter_for)
        if adapter.consent is None and adapter.signs_in_with is not None:
            made = connect_by_password(
                wiring,
                adapter,
                tenant=tenant,
                client=client,
                account=account,
                base_url=base_url,
                sandbox=sandbox,
                identifier=identifier,
                password_file=token_file,
            )
            _say([made], as_json=as_json)
            return
        if identifier is not None or token_file is not None:
            raise click.UsageError(f"--identifier, --token-file: {platform} asks for consent on its own page")
        brought = None if redirected_to is None else _read_address(redirected_to)
        if brought is None:
            brought = _sent_out(
                wiring,
                {
                    "platform": platform,
                    "tenant": tenant,
                    "client": client,
                    "account": account,
                    "base_url": base_url,
                    "sandbox": sandbox,
                    "app": _app(client_id, client_secret_file),
                },
                port=port,
                web=web,
                browser=browser,
            )
        if brought is None:
            return
        offer = wiring.consent_desk.finish(
            platform=platform,
            state=brought.get("state", ""),
            code=brought.get("code"),
            error=brought.get("error"),
            now=datetime.now(UTC),
        )
        chosen = _chosen(offer, pick)
        picked = wiring.consent_desk.pick(pick=offer.pick, remote_user_ids=chosen, actor=actor())
    _say(picked, as_json=as_json)


def _sent_out(
    wiring: Wiring, asked: dict[str, Any], *, port: int, web: bool, browser: bool | None
) -> dict[str, str] | None:
    """Send the person to the platform's page and wait; None: the web goes on from there."""
    path = f"/oauth/callback/{asked['platform']}"
    if web:
        begun = _begin(wiring, **asked, redirect_uri=f"{_web_of(wiring)}{path}")
        _show(begun, browser=browser)
        return None
    with Loopback(port=port, path=path) as listener:
        begun = _begin(wiring, **asked, redirect_uri=listener.redirect_uri)
        _show(begun, browser=browser)
        seconds = (begun.expires_at - datetime.now(UTC)).total_seconds()
        brought = listener.wait(seconds)
    if brought is None:
        raise Failure("Error: nobody came back in time: begin again")
    return brought


def _begin(
    wiring: Wiring,
    *,
    platform: str,
    tenant: str,
    client: str | None,
    account: str | None,
    base_url: str | None,
    sandbox: bool,
    app: AppCredentials | None,
    redirect_uri: str,
) -> Begun:
    from socialq.cli.naming import chosen_accounts
    from socialq.desk import clients, tenants
    from socialq.desk import connect as connecting

    agency = tenants.find(wiring.stores, tenant)
    if account is not None:
        [known] = chosen_accounts(connecting.list_accounts(wiring.stores, tenant=agency.id), account)[:1]
        return wiring.consent_desk.begin_again(
            tenant=agency.id, account_id=known.id, redirect_uri=redirect_uri, actor=actor()
        )
    if client is None:
        raise click.UsageError("give --client for a new account, or --account for one that is known")
    brand = clients.find(wiring.stores, tenant=agency.id, name_or_id=client)
    if sandbox:
        base_url, app = _in_sandbox(wiring, platform, redirect_uri)
    return wiring.consent_desk.begin(
        tenant=agency.id,
        client=brand.id,
        platform=platform,
        base_url=base_url,
        redirect_uri=redirect_uri,
        app=app,
        actor=actor(),
    )


def _in_sandbox(wiring: Wiring, platform: str, redirect_uri: str) -> tuple[str, AppCredentials | None]:
    """Return the platform's place in the sandbox, and an application there if a person must register it."""
    from socialq.cli.accounts.in_sandbox import asked_of_sandbox
    from socialq.desk.connect import known_adapter
    from socialq.providers.base import AppCredentials
    from socialq.providers.registry import adapter_for

    url = wiring.settings.sandbox_url
    consent = known_adapter(platform, adapter_for).consent
    if consent is None or consent.registers_itself:
        return f"{url}/{platform}", None
    made = asked_of_sandbox(url, "/_apps", {"platform": platform, "redirect_uris": [redirect_uri]})
    app = AppCredentials(client_id=made["client_id"], client_secret=made.get("client_secret") or "")
    return f"{url}/{platform}", app


def _web_of(wiring: Wiring) -> str:
    settings = wiring.settings
    return settings.public_url.rstrip("/") or f"http://{settings.web_host}:{settings.web_port}"


def _app(client_id: str | None, secret_file: IO[str] | None) -> AppCredentials | None:
    from socialq.providers.base import AppCredentials

    if client_id is None:
        if secret_file is not None:
            raise click.UsageError("--client-secret-file: say whose secret it is, with --client-id")
        return None
    secret = "" if secret_file is None else secret_file.read()
    return AppCredentials(client_id=client_id, client_secret=secret)


def _show(begun: Begun, *, browser: bool | None) -> None:
    click.echo(f"Open this address, and agree there:\n\n  {begun.address}\n", err=True)
    if sys.stdout.isatty() if browser is None else browser:
        webbrowser.open(begun.address)


def _read_address(given: str) -> dict[str, str]:
    address = (sys.stdin.readline() if given == "-" else given).strip()
    try:
        brought = dict(parse_qsl(urlsplit(address).query))
    except ValueError:
        brought = {}
    if "state" not in brought:
        raise click.UsageError(
            "--redirected-to: that is not the address of a platform's answer; copy all of it"
        )
    return brought


def _chosen(offer: Offer, pick: tuple[str, ...]) -> list[str]:
    """Return the ids of the channels that are picked: by name, by the only one there is, or by asking."""
    possible = offer.possible
    if _ALL in pick:
        return [choice.remote_user_id for choice in possible]
    if pick:
        return [_named(name, offer.choices).remote_user_id for name in pick]
    if len(offer.choices) == 1:
        return [offer.choices[0].remote_user_id]
    for number, choice in enumerate(offer.choices, start=1):
        why = f"  (not possible: {choice.problem})" if choice.problem else ""
        click.echo(f"  {number}  {choice.name}  {choice.kind}  {choice.remote_user_id}{why}", err=True)
    if not sys.stdin.isatty():
        raise Failure("Error: there are several: begin again, and say which with --pick")
    numbers = click.prompt("Which of them (numbers with commas)", err=True)
    return [_numbered(word, offer.choices).remote_user_id for word in str(numbers).split(",")]


def _named(name: str, choices: tuple[Choice, ...]) -> Choice:
    plain = name.strip().removeprefix("@").casefold()
    fitting = [
        choice
        for choice in choices
        if plain in {choice.remote_user_id.casefold(), choice.name.removeprefix("@").casefold()}
    ]
    if len(fitting) != 1:
        names = ", ".join(f"{choice.name} ({choice.remote_user_id})" for choice in choices)
        raise Failure(f'Error: --pick "{name}" fits {len(fitting)} of: {names}; begin again')
    return fitting[0]


def _numbered(word: str, choices: tuple[Choice, ...]) -> Choice:
    text = word.strip()
    if not text.isdecimal() or not 1 <= int(text) <= len(choices):
        raise Failure(f'Error: "{text}" is not one of the numbers; begin again')
    return choices[int(text) - 1]


def _say(made: list[Account], *, as_json: bool) -> None:
    if as_json:
        print_json(made)
        return
    for account in made:
        click.echo(f"Connected {account.name} ({account.id}).")
