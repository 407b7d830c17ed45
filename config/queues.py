"""The queues of this project and what a priority means on each broker."""

from enum import StrEnum


class Queue(StrEnum):
    """Every queue a job may name. The Procfile says which worker listens to which."""

    EMAIL = "email"
    EMAIL_BULK = "email_bulk"
    IMAGES = "images"
    AI = "ai"
    DEFAULT = "default"
    DEAD_LETTER = "dead_letter"


class Priority(StrEnum):
    """What callers say; `broker_priority` turns it into the number a broker wants."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


# At the door, new work is refused when its queue has reached this share of QUEUE_MAX_DEPTH or QUEUE_MAX_AGE_SECONDS.
FULL = {Priority.HIGH: 1.5, Priority.NORMAL: 1.0, Priority.LOW: 0.5}

_RANK = {Priority.HIGH: 0, Priority.NORMAL: 1, Priority.LOW: 2}
MAX_PRIORITY = 2


def broker_priority(priority: Priority, broker_url: str) -> int:
    """Redis serves the lowest number first, RabbitMQ the highest."""
    rank = _RANK[priority]
    return MAX_PRIORITY - rank if broker_url.startswith("amqp") else rank
