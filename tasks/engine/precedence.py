"""One mail before a newsletter, also on RabbitMQ.

A worker serves its queues in the order of `--queues`. Redis is asked for them in that order, within each priority.
RabbitMQ has no order among queues: it draws lots each time a process is free, and a reset link might wait behind one
bundle of mails after another. So a message of the bulk lane goes back, and lots are drawn again, while a queue named
earlier has something.
"""

from typing import Any

from amqp.exceptions import ChannelError, RecoverableConnectionError

from tasks.engine.job import JOBS


def gives_way(message: Any, consumer: Any) -> bool:
    """Whether a message of the bulk lane has to go back. Never but on RabbitMQ, which is asked what waits.

    `consumer` is our `Consumer`. Raises RecoverableConnectionError when RabbitMQ does not answer; Celery connects anew
    then.
    """
    if consumer.connection.transport.driver_type != "amqp" or JOBS[message.headers["task"]].batch_size == 1:
        return False
    own = message.delivery_info["routing_key"]
    earlier = consumer.queue_order[: consumer.queue_order.index(own)] if own in consumer.queue_order else []
    return any(_waiting(consumer, queue) for queue in earlier if consumer.task_consumer.consuming_from(queue))


def _waiting(consumer: Any, queue: str) -> int:
    """How many messages nobody holds. A passive declaration creates nothing."""
    try:
        return int(consumer.task_consumer.channel.queue_declare(queue=queue, passive=True).message_count)
    except (ChannelError, TimeoutError) as error:
        # Somebody deleted the queue, which would end the worker; or a silence, which kombu would pass over, and the
        # message would be forgotten while the broker counts it as ours.
        raise RecoverableConnectionError(f"{queue}: {type(error).__name__}") from error
