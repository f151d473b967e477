"""`python -m socialq.sandbox --port P --data DIR`: run the sandbox in the foreground."""

import argparse
import sys
from pathlib import Path

from socialq.sandbox import SandboxRefused, serve


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 after a clean stop, 1 if the sandbox can't start."""
    options = _parser().parse_args(arguments)
    try:
        serve(
            options.host,
            options.port,
            options.data,
            address_file=options.address_file,
            rate_limit=options.rate_limit,
        )
    except SandboxRefused as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m socialq.sandbox", description=__doc__)
    parser.add_argument("--port", type=_port, default=0, help="TCP port; 0 takes a free one (default)")
    parser.add_argument("--data", type=Path, required=True, help="directory for posts, accounts and faults")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    parser.add_argument("--address-file", type=Path, help="write the address and pid here once listening")
    parser.add_argument(
        "--rate-limit",
        type=_count,
        default=0,
        help="requests per account and five minutes; 0 (default) limits nothing and shows 100000",
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("must be a whole number, 0 or more")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("must be a port from 0 to 65535")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
