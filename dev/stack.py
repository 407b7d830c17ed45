"""What the development stack consists of, decided before anything starts."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dotenv import dotenv_values
from pydantic import ValidationError

from config.settings import Settings, configured, wrong_settings
from dev import ports
from dev.errors import CannotStart


@dataclass(frozen=True)
class Stack:
    """What a person configured, what is chosen for the rest, and the servers that are ours to start.

    A port that is None belongs to a server that a person configured; it is not ours.
    """

    configured: Settings
    chosen: Mapping[str, str]
    folder: Path
    valkey_port: int | None
    smtp_port: int | None
    outbox_port: int | None

    @classmethod
    def plan(cls, folder: Path) -> "Stack":
        """Keep what a person configured, choose the rest; raise CannotStart for a bad setting or a taken port."""
        try:
            mine = configured()
        except ValidationError as error:
            raise CannotStart("; ".join(wrong_settings(error))) from error
        given = {name.upper() for name in mine.model_fields_set}
        port = ports.required(mine.port, "PORT")
        ports.required(mine.flower_port, "FLOWER_PORT")

        valkey_port = None if "BROKER_URL" in given else ports.preferred(6479)
        smtp_port = None if "SMTP_URL" in given else ports.preferred(2525)
        outbox_port = None if smtp_port is None else ports.preferred(8025)

        chosen = _secrets(folder / "development.env") | {"PUBLIC_URL": f"http://{ports.LOOPBACK}:{port}"}
        if valkey_port is not None:
            chosen["BROKER_URL"] = f"redis://{ports.LOOPBACK}:{valkey_port}/0"
        if smtp_port is not None:
            chosen["SMTP_URL"] = f"smtp://{ports.LOOPBACK}:{smtp_port}"
            chosen["OUTBOX_URL"] = f"http://{ports.LOOPBACK}:{outbox_port}"
        chosen = {name: value for name, value in chosen.items() if name not in given}
        return cls(mine, chosen, folder, valkey_port, smtp_port, outbox_port)

    @property
    def address(self) -> str:
        """Where the pages are."""
        return self.chosen.get("PUBLIC_URL", self.configured.public_url)

    @property
    def console_login(self) -> tuple[str, str]:
        """Name and password of the operators' console."""
        password = self.chosen.get("CONSOLE_PASSWORD") or self.configured.console_password.get_secret_value()
        return self.configured.console_username, password

    @property
    def flower_login(self) -> tuple[str, str]:
        """Name and password of Flower."""
        given = self.configured.flower_basic_auth
        login = given.get_secret_value() if given else self.chosen["FLOWER_BASIC_AUTH"]
        name, _, password = login.partition(":")
        return name, password

    @property
    def token_file(self) -> Path:
        """Holds the development API token."""
        return self.folder / "development.token"

    def write(self) -> None:
        """Put what was chosen where a second terminal's `flask` and `celery` read it too."""
        lines = ["# Written by `make run`; your own settings belong into .env, which comes before this file."]
        lines += [f"{name}='{value}'" for name, value in self.chosen.items()]
        path = self.folder / "development.env"
        path.touch(mode=0o600)
        path.write_text("\n".join(lines) + "\n")


def _secrets(path: Path) -> dict[str, str]:
    """The generated ones of the last run, so that sessions and bookmarks survive, or new ones."""
    before = dotenv_values(path) if path.exists() else {}
    made = {
        "SECRET_KEY": secrets.token_urlsafe(32),
        "CONSOLE_PASSWORD": secrets.token_urlsafe(9),
        "FLOWER_BASIC_AUTH": f"operator:{secrets.token_urlsafe(9)}",
    }
    return {name: before.get(name) or value for name, value in made.items()}
