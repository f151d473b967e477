"""The commands, by name. Each is imported when it is called, so that `socialq key new` is quick."""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Final

import click

COMMANDS: Final = {
    "up": ("socialq.cli.up", "Run everything on this machine until Ctrl-C."),
    "demo": ("socialq.cli.demo", "Publish a launch week against the sandbox, and check it."),
    "sandbox": ("socialq.cli.sandbox", "Run the simulated platforms."),
    "tenant": ("socialq.cli.tenant", "Agencies: add, list, limit, suspend, resume."),
    "client": ("socialq.cli.client", "Brands of an agency: add, list."),
    "account": ("socialq.cli.accounts.commands", "Channels of a brand: connect, add, list, disable, enable."),
    "app": ("socialq.cli.app", "OAuth applications: add, list."),
    "media": ("socialq.cli.media", "Pictures and videos of a brand: add, list, show, variant."),
    "post": ("socialq.cli.post", "Posts: create, reschedule, edit, show."),
    "targets": ("socialq.cli.targets", "List targets: one post on one account each."),
    "target": ("socialq.cli.target", "One target: show, retry, cancel, mark-published, take-down."),
    "why": ("socialq.cli.why", "Say where a target is stopped, since when, and who acts next."),
    "webhook": ("socialq.cli.webhook", "Webhooks of an agency: add, list, disable."),
    "report": ("socialq.cli.report", "Reports: lateness."),
    "import": ("socialq.cli.importing", "Import a calendar file (CSV)."),
    "hold": ("socialq.cli.hold", "Times before which nothing is sent: set, list, lift."),
    "cell": ("socialq.cli.cell", "Databases for tenants: add, list, move-tenant, quarantine, release."),
    "outbox": ("socialq.cli.outbox", "Changes that could not be relayed: parked, unpark."),
    "index": ("socialq.cli.index", "The dispatch index: rebuild."),
    "health": ("socialq.cli.health", "Say whether everything works, and what does not."),
    "watch": ("socialq.cli.watch", "Watch the schedule and send alarms, until Ctrl-C."),
    "db": ("socialq.cli.db", "The database: upgrade."),
    "key": ("socialq.cli.key", "Encryption keys: new, rotate."),
    "config": ("socialq.cli.config", "Settings: check."),
}


class Program(click.Group):
    """A group whose commands are found by name, imported late."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List them in the order of a newcomer's day, not of the alphabet."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one; None for an unknown name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list without importing a thing."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


def _version() -> str:
    return metadata.version("socialq")


@click.command(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version=_version(), prog_name="socialq")
def program() -> None:
    """Publishes scheduled posts to social channels: once, on time, and honestly."""
