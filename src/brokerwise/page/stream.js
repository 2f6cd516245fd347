// What the coordinator tells, line by line, for as long as the page is open. A connection
// that ends, or from which nothing is heard, is made again by itself.

import { isRefusal, request } from "./connection.js";

const OPEN_SECONDS = 15; // a coordinator that is busy may need a while to begin
const SILENCE_SECONDS = 5;
const FIRST_SECONDS = 0.5;
const MOST_SECONDS = 8;

/**
 * `heard(line)` gets every object; `changed(state, why)` is told of "live", "lost" and
 * "refused" (a token that is not good: start again with another).
 */
export class Stream {
  constructor(path, heard, changed) {
    this._path = path;
    this._heard = heard;
    this._changed = changed;
    this._run = 0;
    this._wake = () => {};
    addEventListener("online", () => this._wake());
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this._wake();
    });
  }

  /** Begins, or begins again. */
  async start() {
    this._run += 1;
    this._abort?.abort();
    this._wake();
    const run = this._run;
    let seconds = FIRST_SECONDS;
    while (run === this._run) {
      const { lines, error } = await this._listen(run);
      if (run !== this._run) return;
      if (isRefusal(error)) {
        this._changed("refused", error.message);
        return;
      }
      this._changed("lost", error?.message ?? "the connection was closed");
      seconds = lines ? FIRST_SECONDS : Math.min(2 * seconds, MOST_SECONDS);
      await this._rest(seconds * (0.75 + 0.5 * Math.random()));
    }
  }

  /** One connection, to its end: how many lines came, and what went wrong. */
  async _listen(run) {
    this._abort = new AbortController();
    let lines = 0;
    try {
      const response = await within(OPEN_SECONDS, request(this._path, undefined, this._abort.signal));
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await within(SILENCE_SECONDS, reader.read());
        if (done || run !== this._run) return { lines };
        const whole = (rest + value).split("\n");
        rest = whole.pop();
        for (const text of whole) if (text) this._hear(JSON.parse(text), lines++);
      }
    } catch (error) {
      return { lines, error };
    } finally {
      this._abort.abort();
    }
  }

  _hear(line, before) {
    if (before === 0) this._changed("live", "");
    this._heard(line);
  }

  _rest(seconds) {
    return new Promise((done) => {
      const timer = setTimeout(done, seconds * 1000);
      this._wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }
}

async function within(seconds, promise) {
  let timer = 0;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing heard for ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
