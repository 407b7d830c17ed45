"""The scriptable server as a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from services.documents.claude import Claude, Limits
from services.documents.errors import ModelThrottled


def test_it_can_be_scripted_and_keeps_a_record_from_outside(tmp_path: Path) -> None:
    record = tmp_path / "requests.jsonl"
    command = [sys.executable, "-m", "tests.support.messages_api", "--record", str(record)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        script = json.dumps([{"status": 429, "headers": {"retry-after": "7"}}]).encode()
        with urlopen(Request(f"{url}/script", data=script, method="POST")) as accepted:
            assert accepted.status == 204
        client = Claude(api_key="k", base_url=url, model="claude-sonnet-5-5", limits=Limits())
        with pytest.raises(ModelThrottled):
            client.ask("first", "summary")
        client.ask("second", "summary")
        server.terminate()
    assert server.returncode == 0
    asked = [
        json.loads(line)["body"]["messages"][0]["content"][0] for line in record.read_text().splitlines()
    ]
    assert [block["source"]["data"] for block in asked] == ["first", "second"]
