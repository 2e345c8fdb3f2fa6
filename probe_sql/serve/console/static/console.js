// Small enough to read. Every page reads without it; it adds the editor, EXPLAIN as one types, the
// slider, waiting, sorting, and copying. Nothing here asks: only the form of the page does.
const all = (query, root = document) => [...root.querySelectorAll(query)];
const by = (id) => document.getElementById(id);
const page = JSON.parse(by("page").textContent);
const set = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
const share = (part) => Math.max(0, Math.min(100, part)).toFixed(2) + "%";

function words(value, digits = 0) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function near(width) {
  return width >= 10 ? words(Math.ceil(width)) : String(Number(width.toPrecision(2)));
}

function price(epsilon) {
  return epsilon > 0 && epsilon < 0.0005 ? "< 0.001" : epsilon.toFixed(3);
}

async function send(path, values, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF": page.csrf },
    body: JSON.stringify(values),
    signal,
  });
  if (response.status === 401) throw new Error("signed out");
  if (!response.ok) throw new Error("failed");
  return response.json();
}

// --- times in the reader's own zone ---

for (const time of all("time[datetime]")) {
  const moment = new Date(time.dateTime);
  if (Number.isNaN(moment.getTime())) continue;
  const day = { day: "numeric", month: "short" };
  time.textContent = "day" in time.dataset
    ? moment.toLocaleDateString("en-GB", day)
    : moment.toLocaleString("en-GB", { ...day, year: "numeric", hour: "2-digit", minute: "2-digit" });
}

// --- ask ---

if (page.ask) ask();

async function ask() {
  const field = by("sql");
  const form = by("ask");
  const plan = by("plan");
  let editor = null;
  let waiting = null;
  let latest = null;
  let written = "";

  const text = () => (editor ? editor.text() : field.value);

  async function explain(options) {
    clearTimeout(waiting);
    latest?.abort();
    const mine = (latest = new AbortController());
    const sql = text();
    plan.setAttribute("aria-busy", "true");
    try {
      const found = await send("/explain", { sql, ...options }, mine.signal);
      if (mine !== latest) return;
      plan.removeAttribute("aria-busy");
      if (found.slow) {
        say("Planning takes long. Press Explain to wait for it.");
        return;
      }
      if (options && found.sql !== sql) {
        written = found.sql;
        if (editor) editor.write(found.sql);
        else field.value = found.sql;
      }
      const focused = document.activeElement?.id;
      const opened = all("details[open] > summary", plan).map((one) => one.textContent);
      plan.innerHTML = found.plan;
      for (const one of all("details > summary", plan)) {
        one.parentNode.open = opened.includes(one.textContent);
      }
      if (focused && plan.contains(by(focused))) by(focused).focus();
      by("price").textContent = found.button;
      by("agreed").value = found.agreed ?? "";
      editor?.mark(found.problems ?? []);
      plan.classList.toggle("marked", Boolean(editor && found.problems?.length));
      bind();
      say(found.told ?? "");
    } catch (error) {
      if (error.name === "AbortError") return;
      plan.removeAttribute("aria-busy");
      if (error.message === "signed out") say("You were signed out. Press Explain to sign in again; the question is kept.");
      else say("The server did not answer. Nothing was charged.");
    }
  }

  function say(told) {
    if (by("told").textContent !== told) by("told").textContent = told;
  }

  // What the price on the button was about has changed: until the new one is there, none is agreed.
  function changed() {
    if (text() === written) return;
    written = "";
    by("agreed").value = "";
    clearTimeout(waiting);
    waiting = setTimeout(explain, 250);
  }

  function bind() {
    const here = by("at");
    if (here) hideNear(+here.getAttribute("transform").match(/[\d.]+/)[0]);
    const slider = by("epsilon");
    if (slider) {
      slider.addEventListener("input", () => preview(10 ** slider.value, slider));
      slider.addEventListener("change", () => explain({ epsilon: String(rounded(10 ** slider.value)) }));
    }
    for (const bound of all("[data-option]", plan)) {
      bound.addEventListener("change", () => {
        const value = Number(bound.value) / 100;
        if (value > 0 && value < 1) explain({ [bound.dataset.option]: String(Number(value.toPrecision(6))) });
      });
    }
  }

  // Everything in doubt goes with 1 / epsilon, so that the curve can be followed without asking.
  function preview(epsilon, slider) {
    const curve = plan.querySelector(".curve");
    by("price").textContent = `Ask, up to ε ${price(rounded(epsilon))}`;
    by("agreed").value = "";
    if (!curve) {
      slider.setAttribute("aria-valuetext", `epsilon ${price(epsilon)}`);
      return;
    }
    const { scale, aside, shared, low, high, unit } = curve.dataset;
    const width = (at) => (scale * shared) / Math.max(at - aside, 1e-9);
    const x = 10 + (Math.log(epsilon / low) / Math.log(high / low)) * 340;
    const y = 126 - (width(epsilon) / width(+low)) * 108;
    const of = near(width(epsilon)) === "1" ? unit.replace(/s$/, "") : unit;
    const told = `${near(width(epsilon))} ${of}`.trim();
    const at = by("at");
    at.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    set(at.lastChild, x > 290 ? { "text-anchor": "end", x: -6 } : { "text-anchor": "start", x: 6 });
    at.lastChild.textContent = told;
    all("output.rows", plan).forEach((one) => (one.value = told));
    hideNear(x);
    slider.setAttribute("aria-valuetext", `epsilon ${price(epsilon)}, ${told} in doubt`);
    const now = width(slider.dataset.was ?? (slider.dataset.was = 10 ** slider.defaultValue));
    for (const atom of all(".atom[data-sign]", plan)) {
      const { line, sign } = atom.dataset;
      const wide = atom.dataset.width * (width(epsilon) / now);
      const range = atom.querySelector(".range");
      if (line === undefined) range.textContent = `within ${near(wide)}`;
      else {
        const ends = [+line, +line + sign * wide].sort((a, b) => a - b);
        const digits = wide >= 10 ? 0 : wide >= 1 ? 1 : 3;
        range.textContent = ends.map((end) => String(words(end, digits)).replace(/\.0+$/, "")).join(" to ");
      }
      const zone = atom.querySelector(".zone");
      if (!zone) continue;
      const part = Math.max(1.5, 50 * Math.min(1, Math.sqrt(width(epsilon) / width(+low))));
      set(zone, { x: share(sign > 0 ? 50 : 50 - part), width: share(part) });
    }
  }

  function hideNear(x) {
    for (const mark of all(".curve [data-x]", plan)) {
      mark.setAttribute("visibility", Math.abs(mark.dataset.x - x - 15) < 46 ? "hidden" : "visible");
    }
  }

  function rounded(epsilon) {
    return Number(epsilon.toPrecision(2));
  }

  form.addEventListener("submit", (event) => {
    if (editor) field.value = editor.text();
    if (form.dataset.sent && event.submitter?.id === "press") event.preventDefault(); // a second press
    else if (event.submitter?.id === "press") form.dataset.sent = "yes";
  });
  addEventListener("pageshow", () => delete form.dataset.sent);

  const press = () => form.requestSubmit(by("press"));
  field.addEventListener("input", changed);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) press();
  });
  bind();
  try {
    const { makeEditor } = await import("./editor.js");
    editor = makeEditor({
      parent: by("editor"),
      text: field.value,
      nonce: page.nonce,
      label: "SQL",
      complete: (before) => send("/complete", { before }).catch(() => []),
      changed,
      ask: press,
    });
    field.hidden = true;
    by("editor").classList.add("ready");
    document.body.dataset.ready = "editor";
  } catch (error) {
    console.error(error); // the field is still there
  }
  if (text().trim() && !page.planned) explain();
}

// --- while a question runs ---

if (page.asking) waitFor(page.asking);

async function waitFor(token) {
  const began = Date.now();
  setInterval(() => (by("seconds").textContent = words(Math.round((Date.now() - began) / 1000))), 1000);
  addEventListener("keydown", (event) => event.key === "Escape" && by("cancel").click());
  for (;;) {
    try {
      const response = await fetch(`/asking/${token}/state`);
      if (response.status === 401 || (await response.json()).done) break;
    } catch {
      await new Promise((next) => setTimeout(next, 2000));
    }
  }
  location.reload();
}

// --- an answer ---

for (const tabs of all("[data-script]")) tabs.hidden = false;
const table = by("answer");
if (table) answer(table.tBodies[0]);

function answer(body) {
  const press = (button) => all("button", button.parentNode).forEach((one) => one.setAttribute("aria-pressed", one === button));
  for (const button of all("[data-show]")) {
    button.addEventListener("click", () => {
      press(button);
      const wanted = button.dataset.show;
      all("tr", body).forEach((row) => (row.hidden = wanted !== "all" && !row.classList.contains(wanted)));
    });
  }
  for (const button of all("[data-scale]")) {
    button.addEventListener("click", () => {
      press(button);
      const first = button === button.parentNode.firstElementChild;
      const [low, high] = button.dataset.scale.split(",").map(Number);
      const at = (value) => (((value - low) / (high - low)) * 100).toFixed(2) + "%";
      table.classList.toggle("near", !first);
      all("line[data-x]", table).forEach((line) => set(line, { x1: at(line.dataset.x), x2: at(line.dataset.x) }));
      for (const row of all("tr[data-v]", body)) {
        const value = +row.dataset.v;
        const margin = +row.dataset.m;
        all(".e", row).forEach((one) => set(one, { x1: at(value - margin), x2: at(value + margin) }));
        all(".d", row).forEach((one) => one.setAttribute("cx", at(value)));
        row.classList.toggle("off", value > high);
        row.classList.toggle("under", value < low);
      }
      for (const mark of all("text.x", table)) {
        const here = +mark.dataset.x;
        mark.setAttribute("x", at(here));
        mark.toggleAttribute("hidden", here < low || here > high);
        mark.setAttribute("text-anchor", "middle");
      }
    });
  }
  all("thead th", table).forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      all("th", table).forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const cell = column;
      const key = (row) => {
        const one = row.cells[cell];
        return one.dataset.sort === undefined ? one.textContent : +one.dataset.sort;
      };
      const rows = all("tr", body).sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
      body.append(...(up ? rows : rows.reverse()));
    });
  });
}

for (const link of all("[data-copy], [data-link]")) {
  link.addEventListener("click", async (event) => {
    if (!navigator.clipboard) return; // then it is a download
    event.preventDefault();
    const was = link.textContent;
    try {
      const whole = new URL(link.getAttribute("href"), location.href);
      const content = "link" in link.dataset ? whole.href : await (await fetch(whole)).text();
      await navigator.clipboard.writeText(content);
      link.textContent = "Copied";
    } catch {
      location.assign(link.href);
      return;
    }
    setTimeout(() => (link.textContent = was), 1500);
  });
}
