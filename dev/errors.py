"""Why the development stack does not start or does not go on; each message is the line a person reads."""


class CannotStart(Exception):
    """Something a person has to change first; the message says what, in one line."""


class ProgramEnded(Exception):
    """One program of the stack ended by itself, so all the others have to stop too."""

    def __init__(self, name: str, returncode: int) -> None:
        super().__init__(f"{name} ended with exit code {returncode}")
        self.name = name
        self.returncode = returncode


class StopRequested(Exception):
    """Ctrl-C, SIGTERM, SIGHUP or a closed terminal."""
