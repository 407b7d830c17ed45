"""Why the development stack does not start or does not go on; each message is the line a person reads."""


class CannotStart(Exception):
    """Something a person has to change first; the message says what, in one line."""


class ProgramFailed(Exception):
    """One program of the stack is at fault, so all of them have to stop; what it printed says why."""

    def __init__(self, program: str, what: str) -> None:
        super().__init__(f"{program} {what}")
        self.program = program


class StopRequested(Exception):
    """Ctrl-C, SIGTERM, SIGHUP or a closed terminal."""
