"""The plan of one chaos run, made from its seed alone: posts, faults, and what people do meanwhile.

Arrives: how many targets, for how long, the seed, how many faults. Leaves: a `Plan` of plain data with a digest.
What must stay true: the same numbers give the same plan, wherever and whenever it is made; no rule blinds a
finder but those that say so; of each account one request at most is lost without effect, since a part that is
lost so twice is rightly left to a person.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from benchmarks.chaos.wishes import (
    ACCEPTING,
    LOOKING,
    LOSING,
    PASSING,
    PREPARING,
    REFUSING,
    WISHES,
    WITHOUT_EFFECT,
    Wish,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

DisturbanceKind = Literal[
    "worker_killed",
    "beat_killed",
    "worker_stopped",
    "beat_stopped",
    "worker_skewed",
    "redis_flushed",
    "redis_restarted",
    "redis_stalled",
    "postgres_restarted",
    "connections_cut",
    "tenant_suspended",
    "token_revoked",
]
ActKind = Literal["cancel", "move", "retry"]

_ACTS: Final[tuple[ActKind, ...]] = ("cancel", "move", "move", "retry")
TARGETS_OF_A_POST: Final = 8
THREAD_PARTS: Final = 3


BLIND_SHARE: Final = 0.02
REVOKED_SHARE: Final = 0.1
"""Of all accounts."""

_DISTURBANCES: Final[tuple[tuple[DisturbanceKind, float], ...]] = (
    ("worker_killed", 6),
    ("beat_killed", 1),
    ("worker_stopped", 4),
    ("beat_stopped", 1),
    ("worker_skewed", 1.5),
    ("redis_flushed", 2),
    ("redis_restarted", 1.5),
    ("redis_stalled", 1),
    ("postgres_restarted", 1),
    ("connections_cut", 2.5),
    ("tenant_suspended", 2),
    ("token_revoked", 3),
)
_KILLABLE: Final = ("publishing", "publishing", "publishing", "control", "preparing")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAccount:
    """One account of the simulated world."""

    number: int
    name: str
    platform: str
    tenant: int
    blind: bool
    """It loses an answer and can't be looked through."""
    revoked: bool
    """Its tokens may end at any time; then it can't be looked through either, so no answer of its is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPost:
    """One post; a target for each of its accounts, all due at one instant."""

    number: int
    tenant: int
    accounts: tuple[int, ...]
    texts: tuple[str, ...]
    at_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """Something that happens to a process, a server, a tenant or a token, at a time, for a while."""

    at_seconds: float
    kind: DisturbanceKind
    role: str = ""
    dice: float = 0.0
    """Chooses among what is there at that time: processes, accounts, tenants, connections."""
    lasts_seconds: float = 0.0
    skew_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a person does to a target: the post's account-th one."""

    at_seconds: float
    kind: ActKind
    post: int
    account: int
    by_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that is going to happen, in the order of time."""

    seed: int
    seconds: float
    tenants: int
    accounts: tuple[PlannedAccount, ...]
    posts: tuple[PlannedPost, ...]
    rules: tuple[dict[str, Any], ...]
    """As the sandbox's control interface takes them."""
    disturbances: tuple[Disturbance, ...]
    acts: tuple[Act, ...]

    @property
    def targets(self) -> int:
        """How many targets the posts have."""
        return sum(len(post.accounts) for post in self.posts)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for the whole plan."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_plan(
    *,
    targets: int,
    seconds: float,
    seed: int,
    faults: int,
    wishes: dict[str, Wish] = WISHES,
) -> Plan:
    """Make the plan; `faults` is how many the run is to inject at least, `seconds` how long it disturbs."""
    dice = random.Random(seed)
    tenants = 4 if targets < 5000 else 20
    accounts = _accounts(dice, targets=targets, tenants=tenants, wishes=wishes)
    posts = _posts(dice, accounts, targets=targets, seconds=seconds, wishes=wishes)
    disturbances = _disturbances(dice, seconds=seconds, faults=faults)
    return Plan(
        seed=seed,
        seconds=seconds,
        tenants=tenants,
        accounts=accounts,
        posts=posts,
        rules=_rules(dice, accounts, posts, wanted=faults - len(disturbances), wishes=wishes),
        disturbances=disturbances,
        acts=_acts(dice, posts, seconds=seconds),
    )


def _accounts(
    dice: random.Random, *, targets: int, tenants: int, wishes: dict[str, Wish]
) -> tuple[PlannedAccount, ...]:
    """About ten targets to an account; every platform has an account with every tenant."""
    names, shares = list(wishes), [wish.share for wish in wishes.values()]
    wanted = max(targets // 10, tenants * len(names))
    platforms = [
        names[seat] if seat < len(names) else dice.choices(names, shares)[0]
        for seat in (number // tenants for number in range(wanted))
    ]
    blindable = [number for number in range(wanted) if wishes[platforms[number]].blindable]
    blind = set(dice.sample(blindable, min(len(blindable), max(1, round(wanted * BLIND_SHARE)))))
    seeing = [number for number in range(wanted) if number not in blind]
    revoked = set(dice.sample(seeing, max(1, round(wanted * REVOKED_SHARE))))
    return tuple(
        PlannedAccount(
            number=number,
            name=f"chaos{number}",
            platform=platforms[number],
            tenant=number % tenants,
            blind=number in blind,
            revoked=number in revoked,
        )
        for number in range(wanted)
    )


def _posts(
    dice: random.Random,
    accounts: tuple[PlannedAccount, ...],
    *,
    targets: int,
    seconds: float,
    wishes: dict[str, Wish],
) -> tuple[PlannedPost, ...]:
    """Spread posts over the time; one in eight is a thread, one in twenty has the words of another."""
    of_tenant: dict[int, list[PlannedAccount]] = defaultdict(list)
    for account in accounts:
        of_tenant[account.tenant].append(account)
    made: list[PlannedPost] = []
    planned, times = 0, _times(dice, count=targets, seconds=seconds)
    while planned < targets:
        number, tenant = len(made), dice.randrange(len(of_tenant))
        thread = dice.random() < 0.125
        able = [one for one in of_tenant[tenant] if wishes[one.platform].threads or not thread]
        chosen = dice.sample(able, min(len(able), TARGETS_OF_A_POST, targets - planned))
        words = dice.randrange(number) if number and dice.random() < 0.05 else number
        count = THREAD_PARTS if thread else 1
        made.append(
            PlannedPost(
                number=number,
                tenant=tenant,
                accounts=tuple(sorted(one.number for one in chosen)),
                texts=tuple(f"Chaos post {words}, part {part}" for part in range(1, count + 1)),
                at_seconds=times[planned],
            )
        )
        planned += len(chosen)
    return tuple(made)


def _times(dice: random.Random, *, count: int, seconds: float) -> list[float]:
    return sorted(round(dice.uniform(0, seconds), 3) for _ in range(count))


def _disturbances(dice: random.Random, *, seconds: float, faults: int) -> tuple[Disturbance, ...]:
    """One every second and a half at most, and no more than a third of all faults; each kind at least once."""
    kinds, weights = [kind for kind, _ in _DISTURBANCES], [weight for _, weight in _DISTURBANCES]
    count = max(len(kinds), min(int(seconds / 1.5), faults // 3))
    chosen = [*kinds, *dice.choices(kinds, weights, k=count - len(kinds))]
    dice.shuffle(chosen)
    step = seconds / count
    return tuple(
        Disturbance(
            at_seconds=round(step * (place + dice.random()), 3),
            kind=kind,
            role=dice.choice(_KILLABLE),
            dice=dice.random(),
            lasts_seconds=round(_lasting(dice, kind), 2),
            skew_seconds=dice.choice((-3600.0, -60.0, -7.0, 7.0, 60.0, 3600.0)),
        )
        for place, kind in enumerate(chosen)
    )


def _lasting(dice: random.Random, kind: DisturbanceKind) -> float:
    match kind:
        case "worker_stopped" | "beat_stopped":
            # Some outlast a lease.
            return dice.choice((dice.uniform(0.5, 4), dice.uniform(20, 26)))
        case "redis_stalled":
            return dice.uniform(2, 9)
        case "redis_restarted" | "postgres_restarted":
            return dice.uniform(0, 3)
        case "tenant_suspended" | "token_revoked":
            return dice.uniform(2, 8)
        case _:
            return 0.0


def _rules(
    dice: random.Random,
    accounts: tuple[PlannedAccount, ...],
    posts: tuple[PlannedPost, ...],
    *,
    wanted: int,
    wishes: dict[str, Wish],
) -> tuple[dict[str, Any], ...]:
    """Rules for chosen requests of each account, each struck once; a third more than wanted, as some never are."""
    parts: dict[int, int] = defaultdict(int)
    for post in posts:
        for number in post.accounts:
            parts[number] += len(post.texts)
    places = [
        (account, place) for account in accounts for place in range(0, max(1, parts[account.number] - 1), 3)
    ]
    dice.shuffle(places)
    blinded = [account for account in accounts if account.blind]
    made = [rule for account in blinded for rule in _blinding(account)]
    # Every kind has its turn, however few rules there are.
    kinds = _kinds(dice)
    without_effect: set[int] = set()
    for account, place in places:
        if len(made) >= wanted * 4 // 3:
            break
        if account.blind or account.revoked:
            continue
        kind = next(kinds)
        if kind in WITHOUT_EFFECT and account.number in without_effect:
            kind = dice.choice(ACCEPTING)
        elif kind in WITHOUT_EFFECT:
            without_effect.add(account.number)
        made += _strike(dice, account, place, kind, wish=wishes[account.platform])
    return tuple(made)


def _kinds(dice: random.Random) -> Iterator[str]:
    """Give kinds of the publish step without end: the losing twice as often as the others."""
    deck = [*LOSING, *LOSING, *PASSING, *REFUSING]
    while True:
        dice.shuffle(deck)
        yield from deck


def _strike(
    dice: random.Random, account: PlannedAccount, place: int, kind: str, *, wish: Wish
) -> Iterator[dict[str, Any]]:
    """Strike one publish request; after a lost answer sometimes a look, and where there is one a preparing step."""
    rules = [_rule(account, "publish", kind, skip=place)]
    if kind in LOSING and dice.random() < 0.3:
        rules.append(_rule(account, "look", dice.choice(LOOKING), skip=0))
    if wish.prepares and dice.random() < 0.5:
        rules.append(_rule(account, "prepare", dice.choice(PREPARING), skip=place))
    return (rule for rule in rules if wish.limits_by_seconds or rule["kind"] != "rate_limit")


def _blinding(account: PlannedAccount) -> Iterator[dict[str, Any]]:
    yield _rule(account, "publish", "accept_then_reset", skip=1)
    yield _rule(account, "look", "refuse_500", skip=0, times=None)


def _rule(
    account: PlannedAccount, step: str, kind: str, *, skip: int, times: int | None = 1
) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "platform": account.platform,
        "account": account.name,
        "step": step,
        "kind": kind,
        "skip": skip,
        "times": times,
    }
    if kind == "slow":
        rule["delay_ms"] = 1500
    if kind == "rate_limit":
        rule["retry_after_s"] = 2
    return rule


def _acts(dice: random.Random, posts: tuple[PlannedPost, ...], *, seconds: float) -> tuple[Act, ...]:
    """People change their minds about one target in fifteen, around its time; and they retry what failed."""
    made = []
    for post in posts:
        for place in range(len(post.accounts)):
            if dice.random() > 1 / 15:
                continue
            kind = dice.choice(_ACTS)
            moment = post.at_seconds + (dice.uniform(2, 15) if kind == "retry" else dice.uniform(-2, 1))
            made.append(
                Act(
                    at_seconds=round(min(max(0.0, moment), seconds), 3),
                    kind=kind,
                    post=post.number,
                    account=place,
                    by_seconds=round(dice.uniform(0.5, 10), 2),
                )
            )
    return tuple(sorted(made, key=lambda act: (act.at_seconds, act.post, act.account)))
