// What pages cannot do without a script: what is live, what is dropped, what asks first.

const $$ = (query, root = document) => root.querySelectorAll(query);

// Relative times go on, and their tooltips are in the reader's own time zone.
const units = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "always" });
const absolute = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "long" });

function tick(root = document) {
  for (const time of $$("time[data-relative]", root)) {
    const at = new Date(time.dateTime);
    const seconds = Math.trunc((at - Date.now()) / 1000);
    const [unit, length] = units.find(([, length]) => Math.abs(seconds) >= length) ?? units.at(-1);
    time.textContent = relative.format(Math.trunc(seconds / length), unit);
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
for (const root of $$("[data-events]")) follow(root.dataset.events);

function follow(url) {
  const events = new EventSource(url);
  let pending = false;
  events.addEventListener("changed", async () => {
    if (pending) return;
    pending = true;
    await new Promise((done) => setTimeout(done, 150)); // several at once are one
    pending = false;
    await refresh();
  });
  events.addEventListener("output", (event) => {
    const { stream, text } = JSON.parse(event.data);
    const pre = document.querySelector("pre[data-output]");
    if (!pre) return;
    const atEnd = pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 8;
    const part = document.createElement("span");
    if (stream === "stderr") part.className = "err";
    part.textContent = text;
    pre.append(part);
    while (pre.childNodes.length > 2000) pre.firstChild.remove();
    if (atEnd) pre.scrollTop = pre.scrollHeight;
  });
  events.addEventListener("end", async () => {
    events.close();
    await refresh();
  });
}

async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" }).catch(() => null);
  if (!answer?.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of $$("[data-live][id]")) {
    const next = fresh.getElementById(old.id);
    if (next && !old.contains(document.activeElement)) {
      old.replaceWith(document.adoptNode(next));
      tick(next);
    }
  }
}

// A list that data-filter names shows only what has the text.
for (const input of $$("input[data-filter]")) {
  input.addEventListener("input", () => {
    const text = input.value.toLowerCase();
    for (const row of $$(input.dataset.filter)) row.hidden = !row.textContent.toLowerCase().includes(text);
  });
}
