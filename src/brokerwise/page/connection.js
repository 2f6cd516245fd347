// The token, and calls with it. The token comes in the fragment of the address, which no
// server ever sees; it is kept for this tab only and taken out of the address bar.

const KEY = "brokerwise-token";
const TOKEN = /^[!-~]+$/; // what a header can carry
export const UNREACHABLE = 0;
const REFUSED = [401, 403]; // not a token of ours, or not one for this
let token = "";
const refused = new Set();

/** A call that was not answered with what was asked for; `status` is 0 if nobody answered. */
export class CallError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Takes the token from the address, or from what this tab has kept; "" if there is none. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    keepToken(given);
    history.replaceState(null, "", location.pathname + location.search);
  } else {
    token = token || stored();
  }
  return token;
}

/** False if it cannot be a token. */
export function keepToken(given) {
  if (!TOKEN.test(given.trim())) return false;
  token = given.trim();
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // It lasts as long as the page, then.
  }
  return true;
}

/** Whether another token is needed. */
export function isRefusal(error) {
  return REFUSED.includes(error?.status);
}

/** `then` is called when a token was refused. */
export function onRefused(then) {
  refused.add(then);
}

/** A GET, or with a body a POST, of JSON. Raises CallError. */
export async function call(path, body) {
  const response = await request(path, body);
  try {
    return await response.json();
  } catch {
    throw new CallError(response.status, "the answer is not what was expected");
  }
}

/** The same with the response as it comes, for what never ends. */
export async function request(path, body, signal) {
  const response = await send(path, body, signal);
  if (response.ok) return response;
  const error = new CallError(response.status, await reason(response));
  if (isRefusal(error)) refused.forEach((then) => then());
  throw error;
}

async function send(path, body, signal) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      signal,
    });
  } catch {
    throw new CallError(UNREACHABLE, "nobody answers: is it still running?");
  }
}

async function reason(response) {
  try {
    const { error } = await response.json();
    return error || `status ${response.status}`;
  } catch {
    return `status ${response.status}`;
  }
}

function stored() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}
