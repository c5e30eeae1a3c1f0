// Nodes are built here and nowhere from strings of markup, so what a document says can never become markup.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...present(children));
  return node;
}

export function replace(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

function present(children) {
  return children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== false).map((c) =>
    c instanceof Node ? c : String(c));
}

export function button(label, onclick, props = {}) {
  return el("button", { type: "button", onclick, ...props }, label);
}

export function badge(text, kind = "") {
  return el("span", { class: `badge ${kind}` }, text);
}

// Only http(s), and with the address itself as its text: a link cannot claim to lead elsewhere.
export function webLink(address) {
  if (!/^https?:\/\/\S+$/i.test(address)) return address;
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, address);
}

export function facts(pairs) {
  const rows = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export function problemBox(problem) {
  return el("div", { class: "problem", role: "alert" },
    el("strong", {}, problem.message),
    problem.rule && el("span", { class: "faint" }, ` (rule ${problem.rule})`),
    problem.fix && el("p", {}, problem.fix));
}

export function busy(text) {
  return el("p", { class: "busy", role: "status" }, el("span", { class: "spinner", "aria-hidden": "true" }), text);
}

export async function copyText(text, source) {
  const label = source.textContent;
  try {
    await navigator.clipboard.writeText(text);
    source.textContent = "Copied";
  } catch {
    source.textContent = "Copying is not allowed here";
  }
  setTimeout(() => { source.textContent = label; }, 1600);
}
