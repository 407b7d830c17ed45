"""An operator's browser, without the browser."""

import re
from typing import Any

from tests.support.web import Client

USERNAME, PASSWORD = "operator", "correct horse battery staple"


class Console(Client):
    """A browser that sends forms with the token that their page carries."""

    def token(self, page: str = "/console/audit") -> str:
        """The token of the forms on this page, or of the sign-in form it leads to."""
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.get(page, follow_redirects=True).text)
        assert found is not None
        return found[1]

    def act(self, path: str, **fields: str) -> Any:
        """Send a form as a page of this session would."""
        return self.post(path, data={"csrf_token": self.token(), **fields})

    def sign_in(self, username: str = USERNAME, password: str = PASSWORD, **fields: str) -> Any:
        """Fill in the form."""
        return self.act("/console/sign-in", username=username, password=password, **fields)
