"""The record that fault tests count by: it must outlive the server, and hold what the server had taken."""

import subprocess
import sys
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from services.email.errors import DeliveryUnknown
from services.email.mailer import Mailer

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("ending", ["content=250", "content=close"])
def test_a_killed_server_leaves_a_line_for_each_mail_it_took(
    ending: str, tmp_path: Path, connect: Callable[..., Mailer], message: Callable[..., EmailMessage]
) -> None:
    record = tmp_path / "record"
    command = [sys.executable, "-m", "tests.support.smtp", "--record", str(record), "--always", ending]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        mails = connect(process.stdout.readline().strip())
        if ending == "content=close":
            with pytest.raises(DeliveryUnknown):
                mails.send(message())
        else:
            mails.send(message())
        process.kill()
    assert record.read_text() == "<one@localhost.test> ada@example.test\n"
