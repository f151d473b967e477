"""Fixtures of the sandbox's own tests: its process, and a caller of its Mastodon."""

from collections.abc import Callable

import pytest

from tests.fixtures_sandbox import MastodonUser, RunningSandbox


@pytest.fixture
def user(sandbox: RunningSandbox) -> Callable[[str], MastodonUser]:
    """Makes users of the simulated Mastodon: `user("alice")`."""
    return lambda name: MastodonUser(sandbox.create_account(name))


@pytest.fixture
def alice(user: Callable[[str], MastodonUser]) -> MastodonUser:
    return user("alice")
