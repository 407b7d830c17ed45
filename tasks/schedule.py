"""What runs when. A cron expression, the time zone it is meant in, the job, its payload.

`catch_up` is the rule for missed slots: when no beat ran at its time, the latest slot is made up for if it is not
older than that, once; slots before it are skipped.
"""

from datetime import timedelta

from config.queues import Queue
from tasks.canary import CanaryRef, sing
from tasks.engine.recurring import Recurring
from tasks.housekeeping import Nothing, tidy

SCHEDULE = [
    Recurring(
        name="tidy", cron="17 * * * *", timezone="UTC", job=tidy, payload=Nothing(), one_at_a_time=True
    ),
    # One through each queue and minute: the only proof that somebody really consumes.
    *(
        Recurring(
            name=f"canary-{queue}",
            cron="* * * * *",
            timezone="UTC",
            job=sing,
            payload=CanaryRef(queue=queue),
            queue=queue,
            catch_up=timedelta(minutes=1),
            one_at_a_time=True,
        )
        for queue in Queue
    ),
]
