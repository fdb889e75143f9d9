// Forms with files: tabs, what is dropped, what is still missing, a small editor, and how far the sending is.

const $$ = (query, root = document) => root.querySelectorAll(query);

// Sections that follow each other become tabs.
for (const tabs of $$("[data-tabs]")) {
  const parts = [...tabs.children];
  const list = document.createElement("div");
  list.className = "tablist";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", tabs.dataset.tabs);
  const buttons = parts.map((part, i) => {
    const head = part.querySelector("h3");
    const button = Object.assign(document.createElement("button"), { type: "button", className: "tab", textContent: head.textContent, id: `${head.id}-tab` });
    head.hidden = true;
    button.setAttribute("role", "tab");
    part.id ||= `${head.id}-part`;
    button.setAttribute("aria-controls", part.id);
    part.setAttribute("role", "tabpanel");
    part.setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => choose(i));
    button.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step) choose((i + step + parts.length) % parts.length).focus();
    });
    return button;
  });
  const choose = (at) => {
    parts.forEach((part, i) => {
      part.hidden = i !== at;
      buttons[i].setAttribute("aria-selected", i === at);
      buttons[i].tabIndex = i === at ? 0 : -1;
    });
    const send = tabs.closest("form").querySelector("[data-send]");
    if (send) send.hidden = "alone" in parts[at].dataset; // it has a form of its own
    const { editor } = parts[at].dataset;
    if (editor) { // loaded where it is used, and once
      delete parts[at].dataset.editor;
      import(editor).then(({ start }) => start(parts[at]));
    }
    return buttons[at];
  };
  list.append(...buttons);
  tabs.prepend(list);
  tabs.addEventListener("dragenter", () => choose(0));
  choose(Number(tabs.dataset.first ?? 0));
}

// A text area for code has line numbers; Tab indents, and Esc gives Tab back to the page.
function edit(area) {
  const gutter = document.createElement("div");
  gutter.className = "gutter";
  gutter.setAttribute("aria-hidden", "true");
  const box = Object.assign(document.createElement("div"), { className: "editor" });
  area.before(box);
  box.append(gutter, area);
  area.wrap = "off";
  const number = () => {
    const lines = area.value.split("\n").length;
    if (gutter.childElementCount !== lines) {
      gutter.replaceChildren(...Array.from({ length: lines }, (_, i) => Object.assign(document.createElement("span"), { textContent: i + 1 })));
    }
    gutter.scrollTop = area.scrollTop;
  };
  const insert = (text) => { // keeps what can be undone
    if (!document.execCommand("insertText", false, text)) area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    number();
  };
  let leave = false;
  area.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { value, selectionStart: from, selectionEnd: to } = area;
    const line = value.lastIndexOf("\n", from - 1) + 1;
    const indent = /^\t/m.test(value) ? "\t" : "    ";
    if (event.key === "Tab" && !leave) {
      event.preventDefault();
      const several = value.slice(from, to).includes("\n");
      if (!several && !event.shiftKey) return insert(indent);
      area.setSelectionRange(line, to);
      const old = value.slice(line, to);
      const now = event.shiftKey ? old.replace(/^(\t| {1,4})/gm, "") : old.replace(/^(?=.)/gm, indent);
      if (now !== old) insert(now);
      if (several) area.setSelectionRange(line, line + now.length);
      else area.setSelectionRange(...[from, to].map((at) => Math.max(line, at + now.length - old.length)));
    } else if (event.key === "Enter") {
      const blank = value.slice(line, from).match(/^[ \t]*/)[0];
      if (blank) {
        event.preventDefault();
        insert("\n" + blank);
      }
    }
    leave = event.key === "Escape" || leave && event.key === "Shift";
  });
  area.addEventListener("input", number);
  area.addEventListener("scroll", () => { gutter.scrollTop = area.scrollTop; });
  number();
}
for (const area of $$("textarea[data-code]")) edit(area);

// A form with files takes what is dropped on it, lists all before it is sent, and shows
// how far it is. Folders that are dropped come with what is in them.
for (const form of $$("form[data-upload]")) upload(form);

// The path under which the server keeps a file: without the chosen folder's own name.
function kept(path) { return path.includes("/") ? path.slice(path.indexOf("/") + 1) : path; }

function upload(form) {
  const place = form.querySelector("[data-drop]");
  const list = form.querySelector("[data-chosen]");
  const bar = form.querySelector("progress");
  const check = form.querySelector("[data-check]");
  const percent = form.querySelector("[data-percent]");
  const size = new Intl.NumberFormat(document.documentElement.lang, { style: "unit", unit: "kilobyte", maximumFractionDigits: 1 });
  let dropped = []; // {path, file}

  const chosen = () => [...$$("input[type=file]", form)].flatMap((input) => [...input.files]).map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  const show = () => {
    list.replaceChildren(
      ...chosen().map(({ path, file }) => line(path, file)),
      ...dropped.map((d) => line(d.path, d.file, () => { dropped = dropped.filter((other) => other !== d); show(); })));
    list.hidden = !list.childElementCount;
    mark();
  };
  const line = (path, file, forget) => {
    const item = document.createElement("li");
    item.append(path, " ", Object.assign(document.createElement("small"), { textContent: size.format(file.size / 1000) }));
    if (forget) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "plain", textContent: "×" });
      button.setAttribute("aria-label", `${list.dataset.forget} ${path}`);
      button.addEventListener("click", forget);
      item.append(" ", button);
    }
    return item;
  };

  // all returns what would be submitted: bytes by path, and whether an archive hides more. A file takes the place of a
  // typed one of the same name, and both that of one that is carried over.
  const all = () => {
    const files = new Map();
    let packed = false;
    if (form.elements.carry?.checked) for (const item of $$("[data-carried]", form)) files.set(item.dataset.carried, Number(item.dataset.size));
    for (const typed of $$("[data-typed]", form)) {
      const [name, text] = $$("input, textarea", typed);
      if (text.value) files.set(name.value.trim(), new Blob([text.value]).size);
    }
    for (const { path, file } of [...chosen(), ...dropped]) {
      packed ||= !path.includes("/") && !form.elements.archives?.checked && /\.(zip|tgz|tar(\.\w+)?)$/i.test(path);
      files.set(kept(path), file.size);
    }
    return { files, packed };
  };
  const mark = () => {
    const { files } = all();
    for (const item of $$("[data-path]", form)) item.querySelector("[data-there]").hidden = !files.has(item.dataset.path);
    if (check) check.hidden = true;
  };
  // wrong returns what the server would refuse, in words; "" for nothing.
  const wrong = () => {
    const { files, packed } = all();
    const says = form.dataset;
    if (!check || packed) return "";
    if (!files.size) return says.nothing;
    const missing = says.needed.split("\n").filter((path) => path && !files.has(path));
    if (missing.length) return `${says.missing} ${missing.join(", ")}`;
    if (files.size > Number(says.most)) return says.many;
    const bytes = [...files.values()].reduce((sum, n) => sum + n, 0);
    return Number(says.bytes) && bytes > Number(says.bytes) ? says.large : "";
  };

  for (const part of $$("[data-script]", form)) part.hidden = false;
  form.addEventListener("change", show);
  form.addEventListener("input", mark);
  form.querySelector("[data-more]")?.addEventListener("click", ({ target }) => {
    const old = [...$$("[data-typed]", form)].at(-1);
    const next = old.cloneNode(true);
    const at = $$("[data-typed]", form).length;
    for (const part of $$("[id]", next)) part.id = part.id.replace(/\d+$/, at);
    for (const label of $$("label", next)) label.htmlFor = label.htmlFor.replace(/\d+$/, at);
    const [name, text] = $$("input, textarea", next);
    text.setAttribute("aria-describedby", `h-text-${at}`);
    name.value = text.value = "";
    next.querySelector(".editor").replaceWith(text);
    target.parentElement.before(next);
    edit(text);
    text.dispatchEvent(new Event("edit", { bubbles: true }));
    name.focus();
  });
  for (const kind of ["dragenter", "dragover"]) {
    form.addEventListener(kind, (event) => { event.preventDefault(); place.classList.add("over"); });
  }
  form.addEventListener("dragleave", ({ relatedTarget }) => { if (!form.contains(relatedTarget)) place.classList.remove("over"); });
  form.addEventListener("drop", async (event) => {
    event.preventDefault();
    place.classList.remove("over");
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    for (const entry of entries) dropped.push(...await within(entry, ""));
    show();
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const problem = wrong();
    if (problem) {
      event.stopPropagation(); // the button can be pressed again
      check.textContent = problem;
      check.hidden = false;
      return;
    }
    const data = new FormData(form, event.submitter);
    for (const { path, file } of dropped) data.append("files", file, path);
    const sending = new XMLHttpRequest();
    const failed = (text) => {
      bar.hidden = true;
      if (percent) percent.textContent = "";
      for (const b of $$("button", form)) b.disabled = false;
      const main = document.querySelector("main");
      const problem = main.querySelector(":scope > .problem") ?? Object.assign(document.createElement("p"), { className: "problem" });
      problem.setAttribute("role", "alert");
      problem.textContent = text;
      main.prepend(problem);
      problem.scrollIntoView({ block: "center" });
    };
    sending.open("POST", form.action);
    sending.responseType = "document";
    sending.upload.addEventListener("progress", ({ loaded, total }) => {
      bar.value = total ? 100 * loaded / total : 0;
      if (percent) percent.textContent = `${Math.floor(bar.value)} %`;
    });
    sending.addEventListener("error", () => failed(form.dataset.failed));
    sending.addEventListener("load", () => {
      if (sending.status === 200) location.assign(sending.responseURL);
      else failed(sending.response?.querySelector("main > .problem, main > p")?.textContent ?? form.dataset.failed);
    });
    bar.hidden = false;
    sending.send(data);
  });
  mark();
}

// The files of a dropped file or folder, with their paths.
async function within(entry, folder) {
  const path = folder + entry.name;
  if (entry.isFile) return [{ path, file: await new Promise((done, fail) => entry.file(done, fail)) }];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return found;
    for (const inside of some) found.push(...await within(inside, `${path}/`));
  }
}
