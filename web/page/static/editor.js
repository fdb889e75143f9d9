// Syntax colours of what is typed: the text in colours lies below its text area, whose own letters are not painted. The
// text area stays what it is for keyboards, screen readers and forms. The rules are those of the site's own pages.

const mostText = 100_000; // characters; a longer text has no colours
const mostTokens = 12_000;

// start colours the text areas of a part of a form, and those that are added to it.
export async function start(part) {
  const answer = await fetch(part.dataset.rules).catch(() => null);
  if (!answer?.ok) return;
  const rules = await answer.json();
  for (const area of part.querySelectorAll("textarea[data-code]")) colour(area, rules);
  part.addEventListener("edit", ({ target }) => colour(target, rules));
}

function colour(area, rules) {
  const name = area.closest("[data-typed]").querySelector("input");
  const paint = Object.assign(document.createElement("pre"), { className: "paint" });
  paint.setAttribute("aria-hidden", "true");
  const text = paint.appendChild(document.createElement("code"));
  const layers = Object.assign(document.createElement("div"), { className: "layers" });
  const active = document.activeElement === area;
  area.before(layers);
  layers.append(paint, area);
  if (active) area.focus();
  const scroll = () => { text.style.transform = `translate(${-area.scrollLeft}px, ${-area.scrollTop}px)`; };
  const draw = () => {
    const language = languageOf(name.value, rules);
    const on = Boolean(language) && area.value.length <= mostText;
    layers.classList.toggle("coloured", on);
    text.replaceChildren(...on ? tokens(language, area.value) : []);
    scroll();
  };
  area.addEventListener("input", draw);
  area.addEventListener("scroll", scroll);
  name.addEventListener("input", draw);
  draw();
}

// languageOf returns the language of a file by its name.
function languageOf(path, rules) {
  const name = path.trim().toLowerCase().split("/").at(-1);
  const dot = name.lastIndexOf(".");
  const key = rules.names[name] ?? (dot < 0 ? undefined : rules.ends[name.slice(dot + 1)]);
  return key && compile(rules.languages[key]);
}

function compile(language) {
  if (language.compiled) return language;
  language.compiled = Object.fromEntries(Object.entries(language.states).map(([state, rules]) =>
    [state, rules.map(([pattern, classes, then]) => ({ match: new RegExp(pattern, "myu"), classes, then }))]));
  language.kinds = new Map();
  for (const [kind, words] of Object.entries(language.words ?? {})) {
    for (const word of words.split(/\s+/)) language.kinds.set(word, kind);
  }
  return language;
}

function kindOf(language, word, call) {
  const kind = language.kinds.get(language.anyCase ? word.toLowerCase() : word);
  if (kind) return kind;
  if (language.upper && /^[A-Z]/.test(word)) return "ht";
  return call ? "hf" : "";
}

// tokens returns a text as nodes, one for each run of one colour.
function tokens(language, text) {
  const nodes = [];
  let run = "";
  let of = "";
  const flush = () => {
    if (!run) return;
    nodes.push(of ? Object.assign(document.createElement("span"), { className: of, textContent: run }) : document.createTextNode(run));
    run = "";
  };
  const put = (kind, part) => {
    if (kind !== of) flush();
    of = kind;
    run += part;
  };
  const stack = ["root"];
  let at = 0;
  for (let n = 0; at < text.length && n < mostTokens; n++) {
    let found = null;
    for (const rule of language.compiled[stack.at(-1)]) {
      rule.match.lastIndex = at;
      found = rule.match.exec(text);
      if (!found?.[0]) continue;
      if (!rule.classes) put(kindOf(language, found[1], found[2]), found[0]);
      else if (rule.classes.length === 1) put(rule.classes[0], found[0]);
      else rule.classes.forEach((kind, i) => put(kind, found[i + 1] ?? ""));
      if (rule.then === "-") stack.pop();
      else if (rule.then) stack.push(rule.then);
      break;
    }
    if (!found?.[0]) break;
    at += found[0].length;
  }
  put("", `${text.slice(at)}\n`); // the last line has its height
  flush();
  return nodes;
}
