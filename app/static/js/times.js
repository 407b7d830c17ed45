// Keeps relative times true while a page stays open, and shows the exact ones in the reader's time zone.

const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [30 * 86400, "day", 86400],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "medium" });

/** "3 minutes ago", "in 20 seconds", or null for a time so far away that the date says more. */
function said(instant) {
  const seconds = Math.round((instant - Date.now()) / 1000);
  if (Math.abs(seconds) < 5) return "just now";
  const step = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return step ? relative.format(Math.trunc(seconds / step[2]), step[1]) : null;
}

/** Refresh every <time> below `root`. */
export function tellTimes(root = document) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const instant = new Date(time.dateTime);
    const text = said(instant);
    if (text && time.textContent !== text) time.textContent = text;
    time.title = exact.format(instant);
  }
}

/** Refresh them now and every ten seconds. */
export function keepTimes() {
  tellTimes();
  setInterval(tellTimes, 10_000, document);
}
