"""A stack to break: a broker, a database, and a record of effects that is outside of both.

`stack`      a `Stack` over the test's `database` and `any_broker`, with leases of two seconds. Parametrise with
             `@on_both_stacks` (Valkey with SQLite, RabbitMQ with PostgreSQL) or take the first.
`any_broker` an empty broker; `valkey` or, by indirect parameter, `rabbitmq`.
`own_broker` a Valkey of this test alone, to be killed and restarted.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.engine.celery import app as celery
from tests.support.brokers import Valkey, delete_queues, own_valkey, rabbitmq
from tests.support.stack import Stack


@pytest.fixture(scope="session")
def rabbitmq_url() -> Iterator[str]:
    """A virtual host of RabbitMQ for this test process."""
    with rabbitmq() as url:
        yield url


@pytest.fixture
def any_broker(request: pytest.FixtureRequest, database: str, configure: Callable[..., object]) -> str:
    """An empty broker."""
    # It remembers the queues' arguments, which differ from broker to broker.
    vars(celery).pop("amqp", None)
    if getattr(request, "param", "valkey") == "valkey":
        return str(request.getfixturevalue("broker"))
    url = str(request.getfixturevalue("rabbitmq_url"))
    delete_queues(url)
    configure(BROKER_URL=url)
    return url


@pytest.fixture
def own_broker(tmp_path: Path, database: str, configure: Callable[..., object]) -> Iterator[Valkey]:
    """A Valkey that forgets everything when it is killed."""
    with own_valkey(tmp_path / "valkey") as server:
        configure(BROKER_URL=server.url)
        yield server


@pytest.fixture
def stack(any_broker: str, configure: Callable[..., object], tmp_path: Path) -> Stack:
    """The stack, without processes so far."""
    configure(LEASE_SECONDS=2)
    return Stack(tmp_path)
