// What pages cannot do without a script: what is live, what is dropped, what asks first.

const $$ = (query, root = document) => root.querySelectorAll(query);

// Relative times go on, and their tooltips are in the reader's own time zone.
const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
const now = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" }).format(0, "second");
const absolute = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "long" });

function tick(root = document) {
  for (const time of $$("time[data-relative]", root)) {
    const at = new Date(time.dateTime);
    const seconds = Math.trunc((at - Date.now()) / 1000);
    const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units.at(-1);
    time.textContent = seconds === 0 ? now : relative.format(Math.trunc(seconds / length), unit);
    time.title = absolute.format(at);
  }
}
tick();
setInterval(tick, 10_000);

// A form is sent once; one with data-confirm asks first.
document.addEventListener("submit", (event) => {
  const form = event.target;
  const button = event.submitter;
  const question = button?.dataset.confirm ?? form.dataset.confirm;
  if (question && !form.dataset.confirmed) {
    event.preventDefault();
    ask(question, button?.textContent ?? "OK").then((yes) => {
      if (yes) {
        form.dataset.confirmed = "yes";
        form.requestSubmit(button);
      }
    });
    return;
  }
  setTimeout(() => { // after the browser has read which button it was
    for (const b of $$("button", form)) b.disabled = true;
  });
});
addEventListener("pageshow", () => { // also from the back button's memory
  for (const b of $$("form button:disabled:not([data-off])")) b.disabled = false;
});

function ask(question, yes) {
  return new Promise((resolve) => {
    const dialog = document.createElement("dialog");
    const text = document.createElement("p");
    text.id = "question";
    text.textContent = question;
    dialog.setAttribute("aria-labelledby", text.id);
    const form = document.createElement("form");
    form.method = "dialog";
    form.className = "row";
    for (const [value, label, style] of [["yes", yes, "danger"], ["", document.body.dataset.no ?? "Cancel", "second"]]) {
      const b = document.createElement("button");
      b.value = value;
      b.textContent = label;
      b.className = style;
      form.append(b);
    }
    dialog.append(text, form);
    dialog.addEventListener("close", () => { resolve(dialog.returnValue === "yes"); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// Live pages: an element with data-events names a stream of events. Each "changed" has the
// page's parts with data-live rendered anew by the server; "output" is appended to its pre.
// At the "end" what has data-until-end goes: the rendered parts then have the whole.
for (const root of $$("[data-events]")) follow(root.dataset.events);

// How often a stream that was refused is asked for again, as while the site starts anew.
const tries = 10;

function follow(url) {
  let events = null;
  let last = ""; // id, to go on after
  let refused = 0;
  let pending = false;
  const told = {
    async changed() {
      if (pending) return;
      pending = true;
      await new Promise((done) => setTimeout(done, 150)); // several at once are one
      pending = false;
      await refresh();
    },
    output: ({ stream, text }) => print(text, stream === "stderr" && "err"),
    gap: () => print(`\n${document.querySelector("pre[data-output]")?.dataset.gap ?? "…"}\n`, "gap"),
    reset: () => document.querySelector("pre[data-output]")?.replaceChildren(),
    async end() {
      events.close();
      document.removeEventListener("visibilitychange", look);
      if (await refresh()) for (const part of $$("[data-until-end]")) part.remove();
    },
  };
  const open = () => {
    events = new EventSource(last ? `${url}?after=${encodeURIComponent(last)}` : url);
    for (const [kind, tell] of Object.entries(told)) {
      events.addEventListener(kind, (event) => {
        last = event.lastEventId;
        tell(JSON.parse(event.data));
      });
    }
    events.addEventListener("open", () => { refused = 0; });
    events.addEventListener("error", () => { // what breaks off goes on by itself
      if (events.readyState === EventSource.CLOSED && ++refused < tries) setTimeout(look, 2000 * refused);
    });
  };
  // A page that nobody sees needs no connection: browsers have few for one site.
  const look = () => {
    if (document.hidden) events?.close();
    else if (!events || events.readyState === EventSource.CLOSED) open();
  };
  document.addEventListener("visibilitychange", look);
  look();
}

// print appends to the live output.
function print(text, kind) {
  const pre = document.querySelector("pre[data-output]");
  if (!pre) return;
  const atEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 8;
  const part = document.createElement("span");
  if (kind) part.className = kind;
  part.textContent = text;
  pre.append(part);
  while (pre.childNodes.length > 2000) pre.firstChild.remove();
  if (atEnd) pre.scrollTop = pre.scrollHeight;
}

// A part that has the keyboard's focus is left as it is until that moves on.
const later = () => setTimeout(refresh);

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" }).catch(() => null);
  if (!answer?.ok) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  const asking = document.querySelector("dialog[open]");
  if (asking) { // about a form that must still be there when the answer comes
    asking.addEventListener("close", later, { once: true });
    return true;
  }
  for (const old of $$("[data-live][id]")) {
    const next = fresh.getElementById(old.id);
    if (old.contains(document.activeElement)) old.addEventListener("focusout", later, { once: true });
    else if (next) {
      old.replaceWith(document.adoptNode(next));
      tick(next);
    }
  }
  return true;
}

// A list that data-filter names shows only what has the text.
for (const input of $$("input[data-filter]")) {
  input.addEventListener("input", () => {
    const text = input.value.toLowerCase();
    for (const row of $$(input.dataset.filter)) row.hidden = !row.textContent.toLowerCase().includes(text);
  });
}

// A calendar that is wider than its place begins shortly before now.
for (const table of $$("table.calendar")) {
  const now = document.querySelector("#grid .now");
  const place = table.parentElement;
  if (now) place.scrollLeft = parseFloat(now.getAttribute("x1")) / 100 * table.querySelector("svg.lane").clientWidth - place.clientWidth / 4;
}

// A calendar of leases takes a time that a mouse is dragged over, and puts it, in UTC, into the form of a new lease.
for (const table of $$("table[data-calendar]")) choose(table, document.querySelector("form[data-lease]"));

function choose(table, form) {
  if (!form) return;
  for (const help of $$("[data-calendar-help]")) help.hidden = false;
  const [from, to, step] = ["from", "to", "step"].map((name) => Number(table.dataset[name]));
  const mark = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  mark.setAttribute("class", "drag");
  mark.setAttribute("height", "100%");
  let lane = null;
  let first = 0; // where the mouse went down, in pixels
  let chosen = null;
  const at = (x) => {
    const box = lane.getBoundingClientRect();
    return from + (to - from) * Math.min(Math.max((x - box.left) / box.width, 0), 1);
  };
  const percent = (ms) => `${100 * (ms - from) / (to - from)}%`;
  table.addEventListener("pointerdown", (event) => {
    lane = event.target.closest("tbody svg.lane");
    if (!lane || event.pointerType === "touch" || event.button !== 0 || event.target.closest("a")) lane = null;
    else {
      event.preventDefault(); // no text is selected
      first = event.clientX;
      chosen = null;
    }
  });
  addEventListener("pointermove", (event) => {
    if (!lane || !chosen && Math.abs(event.clientX - first) < 4) return;
    const ends = [at(first), at(event.clientX)].sort((a, b) => a - b);
    chosen = [Math.floor(ends[0] / step) * step, Math.ceil(ends[1] / step) * step];
    lane.append(mark);
    mark.setAttribute("x", percent(chosen[0]));
    mark.setAttribute("width", percent(chosen[1] - chosen[0] + from));
  });
  addEventListener("pointerup", () => {
    lane = null;
    if (!chosen) return;
    const text = (ms) => new Date(ms).toISOString().slice(0, 16);
    form.elements.start.value = chosen[0] > Date.now() ? text(chosen[0]) : ""; // what began before now begins now
    form.elements.end.value = text(chosen[1]);
    chosen = null;
    form.elements.name.focus();
  });
}
