"""Which addresses socialq may call: a check of what a person enters, and one of what a name resolves to.

A base URL arrives and its normal form leaves, or `BadBaseUrl`; an IP address arrives and a yes or no leaves.
What must stay true: where private addresses are not allowed, nothing that a tenant enters or a name server
answers makes socialq talk to this machine, its network, or a cloud's metadata service. The second check is
made on the very address that is connected to, so a name that changes its answer in between gains nothing.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# The IANA special-purpose registries, as literals: `ipaddress.is_global` differs between Python releases.
_CLOSED_V4: Final = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's metadata and DNS, on a public address
        "169.254.0.0/16",  # link-local; the metadata service of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
_OPEN_V6: Final = ipaddress.IPv6Network("2000::/3")
_CLOSED_V6: Final = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them: it embeds an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4 embeds an IPv4 address
        "3fff::/20",
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*")
_PRIVATE_SUFFIXES: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".onion")


class BadBaseUrl(ValueError):  # noqa: N818 - named for what is wrong
    """An address that socialq will not call; the message says why, and never repeats credentials."""


def check_base_url(url: str, *, allow_private: bool) -> str:
    """Return the normal form of a platform's base URL: lower case host, no default port, no trailing slash.

    Raises `BadBaseUrl` for anything but https (http where private addresses are allowed), for credentials, a
    query or a fragment, for a host that is no host, and for one that is private by its name or number.
    """
    if any(character.isspace() or not character.isprintable() or character == "\\" for character in url):
        raise BadBaseUrl("The address contains white space, a backslash or a control character.")
    if "?" in url or "#" in url:
        raise BadBaseUrl("The address must end before any ? or #.")
    split = _split(url)
    _check_form(split, allow_private=allow_private)
    host = _checked_host(split.hostname or "", allow_private=allow_private)
    port = split.port
    authority = host if port in {None, 443 if split.scheme == "https" else 80} else f"{host}:{port}"
    return f"{split.scheme}://{authority}{split.path.rstrip('/')}"


def is_public(address: IPAddress) -> bool:
    """Say whether `address` is one of the open internet, and neither wraps nor leads to one that is not."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address.scope_id is not None:
        return False
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _OPEN_V6 and not any(address in network for network in _CLOSED_V6)


def literal_address(host: str) -> IPAddress | None:
    """Return the address that `host` spells out (an IPv6 one may stand in brackets), or None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url)
        split.port  # noqa: B018 - reading it checks it
    except ValueError:
        raise BadBaseUrl("The address can't be read: check the host and the port.") from None
    return split


def _check_form(split: SplitResult, *, allow_private: bool) -> None:
    if split.scheme not in {"https", "http"}:
        raise BadBaseUrl("The address must begin with https://.")
    if split.scheme == "http" and not allow_private:
        raise BadBaseUrl("The address must begin with https://, since http shows the token to the network.")
    if "@" in split.netloc:
        raise BadBaseUrl("The address must not contain a user name or a password.")
    if split.port == 0:
        raise BadBaseUrl("Port 0 can't be called.")
    if not _PATH.fullmatch(split.path.rstrip("/")) or {".", ".."} & set(split.path.split("/")):
        raise BadBaseUrl("The path of the address can't be read: leave it away, or write it plainly.")


def _checked_host(host: str, *, allow_private: bool) -> str:
    if not host:
        raise BadBaseUrl("The address has no host.")
    if address := literal_address(host):
        if not allow_private and not is_public(address):
            raise BadBaseUrl(f"{address} is not an address of the open internet.")
        return str(address) if address.version == 4 else f"[{address}]"
    name = _ascii_name(host)
    if not allow_private and ("." not in name or name.endswith(_PRIVATE_SUFFIXES)):
        raise BadBaseUrl(f"{name} is not a name of the open internet.")
    return name


def _ascii_name(host: str) -> str:
    try:
        name = host.lower() if host.isascii() else host.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise BadBaseUrl("The host of the address can't be read.") from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadBaseUrl("The host of the address can't be read.")
    # Resolvers read 2130706433, 0x7f.1 and 127.1 as 127.0.0.1, so a name may not end in a number.
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        raise BadBaseUrl("The host of the address is neither a name nor a complete IP address.")
    return name
