// A user of the page: subscribes and publishes, goes where the fleet moves it, and finds
// another broker when its own is gone.

import { call } from "./connection.js";
import { counted } from "./format.js";
import { Link } from "./link.js";
import { Ordering } from "./ordering.js";

const CATCH_UP_SECONDS = 5;
const CUT = 1006;
const AGAIN = [CUT, 4408, 4429, 4430, 4503, 4504];
const FIRST_MS = 100;
const MOST_MS = 1000;
const LEASE_MS = 3500; // so long the coordinator may name a broker that has died

export class Session {
  /** `shown({ frame, missed })` gets messages; `told(text)` what else there is to know. */
  constructor(user, { shown, told, anyBroker }) {
    this.user = user;
    this.topics = new Map(); // to the link that brings it; null while there is none
    this._shown = shown;
    this._told = told;
    this._anyBroker = anyBroker;
    this._links = new Map();
    this._opening = new Map();
    this._order = new Ordering();
    this._arrivals = new Set();
    this._dead = new Map(); // addresses that are not tried before a time
    this._epoch = Date.now();
    this._sent = new Map();
  }

  /** `isWanted()` is asked when it is done: somebody may have left the topic meanwhile. */
  async subscribe(topic, isWanted = () => true) {
    const link = await this._open(await this._placeOf(topic));
    const { cursors } = await link.subscribe(topic);
    if (!isWanted()) {
      await link.unsubscribe(topic);
      return link.broker;
    }
    this.topics.set(topic, link);
    const missed = this._order.begin(cursors ?? []);
    if (missed) this._told(`${counted(missed, "message")} of ${topic} missed`);
    return link.broker;
  }

  async unsubscribe(topic) {
    const link = this.topics.get(topic);
    this._order.forget(topic);
    this.topics.delete(topic);
    if (!link) return;
    await link.unsubscribe(topic);
    if (!this._topicsOf(link).length) this._end(link);
  }

  async publish(topic, data) {
    const link = this.topics.get(topic) ?? (await this._open(await this._wayTo(topic)));
    const seq = (this._sent.get(topic) ?? 0) + 1;
    this._sent.set(topic, seq);
    await link.publish({ topic, epoch: this._epoch, seq, data, at: Date.now() });
    return link.broker;
  }

  async _token() {
    this._given ??= (await call("registeruser", { user: this.user })).token;
    return this._given;
  }

  async _placeOf(topic) {
    await this._token();
    const { sessions, unserved } = await call("requestbroker", { user: this.user, topics: [topic] });
    const place = sessions.find(({ topics }) => topics === null || topics.includes(topic));
    if (place && Date.now() < (this._dead.get(place.url) ?? 0)) throw new Error(`${place.broker} is gone`);
    if (place) return place.url;
    throw new Error(
      unserved.includes(topic)
        ? `the plan gives ${this.user} no ${topic}: this fleet serves only whom its plan names`
        : "no broker was named",
    );
  }

  /** Any broker takes a message in and passes it on. */
  async _wayTo(topic) {
    const open = [...this._links.values()][0];
    if (open) return open.url;
    try {
      return await this._placeOf(topic);
    } catch (error) {
      const name = this._anyBroker();
      if (!name) throw error;
      return (await call(`watch/broker/${encodeURIComponent(name)}`)).url;
    }
  }

  /** One connection to a broker, however many ask for it at once. */
  async _open(url) {
    const known = this._links.get(url) ?? this._opening.get(url);
    if (known) return known;
    const opening = this._connect(url).finally(() => this._opening.delete(url));
    this._opening.set(url, opening);
    return opening;
  }

  async _connect(url) {
    const link = new Link(url, (from, frame) => this._hear(from, frame), (...end) => this._lost(...end));
    await link.open(this.user, await this._token());
    this._links.set(url, link);
    return link;
  }

  _hear(link, frame) {
    if (frame.type === "message") {
      this._order.take(frame).forEach(this._shown);
      this._arrivals.forEach((check) => check());
    } else if (frame.type === "request_to_move") {
      link.send({ type: "accept", move: frame.move });
    } else if (frame.type === "connect") {
      this._move(link, frame).catch((error) => this._told(`stays on ${link.broker}: ${error.message}`));
    } else if (frame.type === "problem") {
      this._told(frame.message);
    }
  }

  async _move(old, { move, url, topics }) {
    const going = topics?.length ? topics : this._topicsOf(old);
    this._order.beginMove();
    try {
      const next = await this._open(url);
      const answers = await Promise.all(going.map((topic) => next.subscribe(topic)));
      await this._caughtUp(answers.flatMap(({ cursors }) => cursors ?? []));
      old.send({ type: "moved", move });
      for (const topic of going) if (this.topics.has(topic)) this.topics.set(topic, next);
      this._told(`moved from ${old.broker} to ${next.broker}`);
      await this._leave(old, going);
    } finally {
      this._order.endMove().forEach(this._shown);
    }
  }

  async _leave(link, gone) {
    if (this._topicsOf(link).length) await Promise.all(gone.map((topic) => link.unsubscribe(topic, true)));
    else this._end(link);
  }

  _end(link) {
    this._links.delete(link.url);
    link.leave();
  }

  _topicsOf(link) {
    return [...this.topics].filter(([, at]) => at === link).map(([topic]) => topic);
  }

  /** Until the old broker has brought all that the new one will not; not for ever. */
  _caughtUp(cursors) {
    return new Promise((done) => {
      const end = () => {
        clearTimeout(timer);
        this._arrivals.delete(check);
        done();
      };
      const check = () => this._order.hasReached(cursors) && end();
      const timer = setTimeout(end, CATCH_UP_SECONDS * 1000);
      this._arrivals.add(check);
      check();
    });
  }

  _lost(link, code, reason) {
    if (this._links.get(link.url) === link) this._links.delete(link.url);
    if (code === CUT) this._dead.set(link.url, Date.now() + LEASE_MS);
    const left = this._topicsOf(link);
    if (!left.length) return;
    if (!AGAIN.includes(code)) {
      for (const topic of left) this.topics.delete(topic);
      this._told(`${link.broker} ended the session: ${reason}`);
      return;
    }
    for (const topic of left) this.topics.set(topic, null);
    this._told(`${link.broker} is gone: looking for another broker`);
    for (const topic of left) this._again(topic);
  }

  async _again(topic) {
    for (let wait = FIRST_MS; this.topics.get(topic) === null; wait = Math.min(2 * wait, MOST_MS)) {
      await new Promise((done) => setTimeout(done, wait * (0.75 + 0.5 * Math.random())));
      try {
        this._told(`on ${await this.subscribe(topic, () => this.topics.has(topic))} again`);
      } catch {
        // Until a broker is there.
      }
    }
  }
}
