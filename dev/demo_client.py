"""The API as somebody else's program would call it."""

from pathlib import Path
from typing import Any

import httpx2

from dev.errors import CannotStart

SAMPLES = Path(__file__).resolve().parent.parent / "app" / "static" / "samples"


class Client:
    """Calls with a token; each method returns the id of the job that was accepted."""

    def __init__(self, address: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(base_url=f"{address}/api/v1", headers=headers, timeout=10)

    def email(self, to: str, *, key: str) -> str:
        """Ask for one mail from the welcome template."""
        body = {
            "template": "welcome",
            "to": {"email": to, "name": "Ada"},
            "context": {"name": "Ada"},
        }
        return str(self._accepted("/emails", json=body, headers={"Idempotency-Key": key})["job"]["id"])

    def image(self) -> str:
        """Ask for the sample picture in three widths."""
        with (SAMPLES / "sample.jpg").open("rb") as picture:
            form = {"widths": "320,768,1280", "format": "webp"}
            return str(self._accepted("/images", files={"file": picture}, data=form)["job"]["id"])

    def document(self) -> str:
        """Ask for a summary of the sample text."""
        with (SAMPLES / "sample.txt").open("rb") as text:
            answer = self._accepted("/documents", files={"files": text}, data={"analysis": "summary"})
        return str(answer["jobs"][0]["id"])

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def _accepted(self, path: str, **request: Any) -> Any:
        answer = self._http.post(path, **request)
        if answer.status_code != httpx2.codes.ACCEPTED:
            raise CannotStart(f"POST {path} was answered with {answer.status_code}: {answer.text}")
        return answer.json()
