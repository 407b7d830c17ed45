// Everything here adds to pages that already work by plain links and forms.

import { startLive } from "./live.js";
import { keepTimes } from "./times.js";
import { startUploads } from "./upload.js";

startUploads(document);
startLive(document.querySelector("[data-live]"));
keepTimes();
