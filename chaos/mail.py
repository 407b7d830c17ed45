"""The mail server of the run, which records what it accepts and treats each mail as its address says.

`python -m chaos.mail --port N --record FILE`; ends on SIGTERM.
"""

import argparse
import signal
import threading
import time
from pathlib import Path

from chaos.plan import Act, act_of
from tests.support.smtp import Accepted, Answer, SmtpServer, Stage

SLOW_S = 0.7


class MailServer(SmtpServer):
    """One thread per connection, so what is kept for a connection is kept by its thread."""

    def __init__(self, *, port: int, record: Path) -> None:
        super().__init__(port=port, record=record)
        self._kept = threading.local()

    def accept(self, message: Accepted) -> None:
        """The mail is on record; whether its sender learns that is another matter."""
        super().accept(message)
        match act_of(message.recipients[0]):
            case Act.CUT:
                raise ConnectionAbortedError
            case Act.SLOW:
                time.sleep(SLOW_S)
            case Act.DROP:
                self._kept.drop = True

    def answer(self, stage: Stage) -> Answer:
        """After the yes to a mail that is to be dropped, hang up on whatever comes next."""
        if stage != "content" and getattr(self._kept, "drop", False):
            self._kept.drop = False
            return Answer(close=True)
        return super().answer(stage)


def main() -> None:
    """Serve until SIGTERM."""
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--record", type=Path, required=True)
    chosen = options.parse_args()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with MailServer(port=chosen.port, record=chosen.record) as server:
        print(server.url, flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
