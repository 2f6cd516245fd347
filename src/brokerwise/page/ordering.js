// Each message once, in the order of its source (docs/protocol.md). Pure. While a session
// moves two brokers bring the same messages, and one that is not the very next waits.

export class Ordering {
  constructor() {
    this._last = new Map();
    this._held = new Map();
    this._moving = 0;
  }

  beginMove() {
    this._moving += 1;
  }

  /** What has waited comes now; where something is still missing it is said. */
  endMove() {
    this._moving -= 1;
    if (this._moving) return [];
    const waited = [...this._held.values()].flat().sort(before);
    this._held.clear();
    return waited.flatMap((frame) => this.take(frame));
  }

  /** The messages to show by now, each as `{ frame, missed }`; null: nobody can say how many. */
  take(frame) {
    const key = keyOf(frame.topic, frame.source);
    const last = this._last.get(key);
    if (last && !isAfter(frame, last)) return [];
    const missed = last ? missedBetween(last, frame) : 0;
    if (missed !== 0 && this._moving) {
      this._held.set(key, [...(this._held.get(key) ?? []), frame]);
      return [];
    }
    this._last.set(key, { topic: frame.topic, epoch: frame.epoch, seq: frame.seq });
    return [{ frame, missed }, ...this._next(key)];
  }

  /** Where a broker begins. How many messages that leaves out since the last that was seen. */
  begin(cursors) {
    let missed = 0;
    for (const [topic, source, epoch, seq] of cursors) {
      const key = keyOf(topic, source);
      const last = this._last.get(key);
      if (last && !isAfter({ epoch, seq }, last)) continue;
      if (last) missed += last.epoch === epoch ? seq - last.seq : seq;
      this._last.set(key, { topic, epoch, seq });
    }
    return missed;
  }

  forget(topic) {
    for (const [key, last] of this._last) if (last.topic === topic) this._last.delete(key);
  }

  /** Whether everything up to these cursors has been seen. */
  hasReached(cursors) {
    return cursors.every(([topic, source, epoch, seq]) => {
      const last = this._last.get(keyOf(topic, source));
      return last !== undefined && !isAfter({ epoch, seq }, last);
    });
  }

  _next(key) {
    const held = this._held.get(key) ?? [];
    const next = held.find((frame) => missedBetween(this._last.get(key), frame) === 0);
    if (!next) return [];
    this._held.set(key, held.filter((frame) => frame !== next));
    return this.take(next);
  }
}

function keyOf(topic, source) {
  return `${topic}\u0000${source}`;
}

function isAfter(one, other) {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.seq > other.seq);
}

function before(one, other) {
  return isAfter(one, other) ? 1 : -1;
}

function missedBetween(last, frame) {
  if (frame.epoch === last.epoch) return frame.seq - last.seq - 1;
  return frame.seq === 1 ? 0 : null;
}
