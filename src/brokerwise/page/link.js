// One connection of a user to a broker (docs/protocol.md): logs in, acknowledges, answers.

const OPEN_SECONDS = 5;
const ACK_MS = 200;
const SILENCE_SECONDS = 3;

export class Link {
  /** `heard(link, frame)` gets messages and orders, `ended(link, code, reason)` the end. */
  constructor(url, heard, ended) {
    this.url = url;
    this.broker = "";
    this._heard = heard;
    this._ended = ended;
    this._count = 0;
    this._cursors = new Map();
    this._asked = new Map();
    this._lastId = 0;
    this._published = 0;
    this._unconfirmed = new Map();
  }

  /** Raises an Error that says why the broker would not. */
  open(user, token) {
    return new Promise((resolve, reject) => {
      this._socket = new WebSocket(`${this.url}/session`);
      this._silent(OPEN_SECONDS);
      this._socket.onopen = () => this.send({ type: "login", user, token });
      this._socket.onmessage = ({ data }) => this._hear(JSON.parse(data), resolve);
      this._socket.onclose = ({ code, reason }) => {
        const text = reason || `the broker at ${this.url} cannot be reached`;
        this._end(code, text);
        reject(new Error(text));
      };
    });
  }

  send(frame) {
    if (this._socket.readyState === WebSocket.OPEN) this._socket.send(JSON.stringify(frame));
  }

  subscribe(topic) {
    return this._ask({ type: "subscribe", topics: [topic] });
  }

  /** `elsewhere`: another broker serves it by now. */
  unsubscribe(topic, elsewhere = false) {
    return this._ask({ type: "unsubscribe", topics: [topic], elsewhere });
  }

  /** Ends when the broker has taken the message in. */
  publish(message) {
    this._published += 1;
    const place = this._published;
    return new Promise((resolve, reject) => {
      this._unconfirmed.set(place, { resolve, reject });
      this.send({ type: "publish", ...message });
    });
  }

  leave() {
    this.send({ type: "logout" });
  }

  _ask(frame) {
    const id = (this._lastId += 1);
    return new Promise((resolve, reject) => {
      this._asked.set(id, { resolve, reject });
      this.send({ ...frame, id });
    });
  }

  _hear(frame, welcomed) {
    this._silent(this._patience ?? SILENCE_SECONDS);
    switch (frame.type) {
      case "welcome":
        this.broker = frame.broker;
        this._patience = frame.silence_seconds;
        welcomed();
        break;
      case "message":
        this._acknowledge(frame);
        if (!frame.skipped) this._heard(this, frame);
        break;
      case "subscribed":
      case "unsubscribed":
        this._answer(frame.id, ({ resolve }) => resolve(frame));
        break;
      case "published":
        this._confirm(frame.count);
        break;
      case "problem":
        if (!this._answer(frame.id, ({ reject }) => reject(new Error(frame.message)))) this._heard(this, frame);
        break;
      default:
        this._heard(this, frame);
    }
  }

  _answer(id, settle) {
    const waiting = this._asked.get(id);
    this._asked.delete(id);
    if (waiting) settle(waiting);
    return Boolean(waiting);
  }

  _confirm(count) {
    for (const [place, { resolve }] of this._unconfirmed) {
      if (place > count) return;
      this._unconfirmed.delete(place);
      resolve();
    }
  }

  _acknowledge({ topic, source, epoch, seq }) {
    this._count += 1;
    this._cursors.set(`${topic}\u0000${source}`, [topic, source, epoch, seq]);
    this._ackTimer ??= setTimeout(() => {
      this._ackTimer = undefined;
      this.send({ type: "ack", count: this._count, cursors: [...this._cursors.values()] });
      this._cursors.clear();
    }, ACK_MS);
  }

  /** A broker that is not heard for so long is taken for gone. */
  _silent(seconds) {
    clearTimeout(this._silence);
    this._silence = setTimeout(() => {
      this._end(1006, "nothing was heard from the broker");
      this._socket.close();
    }, seconds * 1000);
  }

  _end(code, reason) {
    clearTimeout(this._silence);
    clearTimeout(this._ackTimer);
    for (const waiting of [this._asked, this._unconfirmed]) {
      for (const { reject } of waiting.values()) reject(new Error(reason));
      waiting.clear();
    }
    const tell = this._ended;
    this._ended = () => {};
    tell(this, code, reason);
  }
}
