// The page's only way to the service. Problems (RFC 9457) come out as Problem; a 401 asks for a key and tries again.

const KEY = "askline.api_key";

let askForKey = async () => null;

export function onUnauthenticated(ask) {
  askForKey = ask;
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

export class Problem extends Error {
  constructor(status, body = {}) {
    super(body.detail || `The service answered ${status}.`);
    this.status = status;
    this.code = body.code || "http_error";
    this.fix = body.fix;
    this.rule = body.rule;
  }
}

const UNREACHABLE = {
  code: "unreachable",
  detail: "Askline does not answer.",
  fix: "Check that it runs and that you are connected, then try again.",
};

// A service that refuses a large body may close the connection before its answer is read.
const BROKEN = {
  code: "connection_ended",
  detail: "The connection ended during the upload.",
  fix: "Check that Askline runs, and that the file is not larger than it accepts (ASKLINE_SERVICE__MAX_UPLOAD_MB).",
};

async function send(path, options = {}) {
  for (;;) {
    const headers = new Headers(options.headers);
    if (key.get()) headers.set("Authorization", `Bearer ${key.get()}`);
    let response;
    try {
      response = await fetch(path, { ...options, headers });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, UNREACHABLE);
    }
    if (response.ok) return response;
    const problem = new Problem(response.status, await response.json().catch(() => ({})));
    if (response.status !== 401 || !(await askForKey(problem))) throw problem;
  }
}

function withQuery(path, params) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export async function get(path, params = {}) {
  return (await send(withQuery(path, params))).json();
}

export async function post(path, body) {
  const response = await send(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}),
  });
  return response.json();
}

export async function remove(path) {
  const response = await send(path, { method: "DELETE" });
  return response.status === 204 ? null : response.json();
}

// Every item of a list; `most` bounds what a page takes on.
export async function listAll(path, params = {}, most = 2000) {
  const items = [];
  let cursor = null;
  do {
    const found = await get(path, { ...params, cursor });
    items.push(...found.items);
    cursor = found.next_cursor;
  } while (cursor && items.length < most);
  return items;
}

// By fetch and not by an address in <img>, which could not carry the key.
export async function image(path, params) {
  const blob = await (await send(withQuery(path, params))).blob();
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

export async function download(path, name) {
  const address = URL.createObjectURL(await (await send(path)).blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Server-sent events as {event, data}; a service that answers JSON gives one `done`.
export async function* events(path, body, signal) {
  const response = await send(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream, application/json;q=0.5" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) {
    yield { event: "done", data: { answer: await response.json() } };
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split(/\r?\n\r?\n/);
    buffer = blocks.pop();
    for (const block of blocks) {
      const parsed = parseEvent(block);
      if (parsed) yield parsed;
    }
  }
}

function parseEvent(block) {
  let event = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { event, data: JSON.parse(data.join("\n")) } : null;
}

// XMLHttpRequest, since fetch tells nothing about how much has been sent.
export async function upload(files, fields, onprogress) {
  for (;;) {
    const { status, body } = await sendFiles(files, fields, onprogress);
    if (status >= 200 && status < 300) return body.items[0];
    const problem = new Problem(status, status ? body : BROKEN);
    if (status !== 401 || !(await askForKey(problem))) throw problem;
  }
}

function sendFiles(files, fields, onprogress) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  for (const file of files) form.append("files", file);
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/upload");
    if (key.get()) request.setRequestHeader("Authorization", `Bearer ${key.get()}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onprogress(event.loaded / event.total);
    request.onloadend = () => resolve({ status: request.status, body: request.response ?? {} });
    request.send(form);
  });
}
