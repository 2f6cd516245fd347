// How numbers, times and sizes are written. Pure. What is not known is a dash.

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const DIGITS = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const LETTERS = ["", "k", "M", "G", "T"];
const SIZES = ["B", "kB", "MB", "GB", "TB"];
const UNKNOWN = "\u2013";

const known = (number) => Number.isFinite(number);

/** `1,204`. */
export function count(number) {
  return known(number) ? WHOLE.format(number) : UNKNOWN;
}

/** `1 topic`, `1,204 topics`. */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** Three digits that matter, all digits of what is left of the point. */
export function significant(number) {
  if (!known(number)) return UNKNOWN;
  return Math.abs(number) >= 100 ? WHOLE.format(number) : DIGITS.format(number);
}

/** `412/s`. */
export function rate(number) {
  return known(number) ? `${significant(number)}/s` : UNKNOWN;
}

/** `12.3k`: for axes and narrow places. */
export function short(number) {
  if (!known(number)) return UNKNOWN;
  const [scaled, power] = reduced(number, LETTERS.length);
  return `${DIGITS.format(scaled)}${LETTERS[power]}`;
}

/** `1.1 MB`. */
export function bytes(number) {
  if (!known(number)) return UNKNOWN;
  const [scaled, power] = reduced(number, SIZES.length);
  return `${DIGITS.format(scaled)} ${SIZES[power]}`;
}

/** Bytes a second in one unit, that of the largest, so that they can be compared. */
export function bandwidth(loads) {
  const most = Math.max(0, ...loads);
  const [scaled, power] = reduced(most, SIZES.length);
  const digits = scaled >= 100 || power === 0 ? 0 : 1;
  const format = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  const unit = `${SIZES[power]}/s`;
  const number = (load) => format.format(load / 1000 ** power);
  return { unit, number, text: (load) => `${number(load)} ${unit}` };
}

/** `3.1 ms`, `1.2 s`. */
export function milliseconds(number) {
  if (!known(number)) return UNKNOWN;
  const isLong = Math.abs(number) >= 1000;
  return isLong ? `${significant(number / 1000)} s` : `${significant(number)} ms`;
}

/** `41 %`; only the whole is 100 %. */
export function percent(share) {
  if (!known(share)) return UNKNOWN;
  const text = significant(100 * share);
  return text === "100" && share < 1 ? "> 99.9 %" : `${text} %`;
}

/** `0.31`: two digits are as many as a coefficient of variation deserves. */
export function cov(number) {
  return known(number) ? number.toFixed(2) : UNKNOWN;
}

/** `$340.20`. */
export function dollars(usd) {
  if (!known(usd)) return UNKNOWN;
  const digits = Math.abs(usd) >= 1000 ? 0 : 2;
  return usd.toLocaleString("en-US", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** `12:04:31` where the reader is, of seconds since 1970. */
export function clock(at) {
  return known(at) ? `${minute(at)}:${two(new Date(at * 1000).getSeconds())}` : UNKNOWN;
}

/** The same, with the date if that is not today's. */
export function moment(at, now = Date.now() / 1000) {
  const [day, today] = [at, now].map((seconds) => new Date(seconds * 1000));
  if (day.toDateString() === today.toDateString()) return clock(at);
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())} ${clock(at)}`;
}

/** `12:04`. */
export function minute(at) {
  const date = new Date(at * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `12:04`, or `12:04:30` between two minutes: for the ticks of an axis. */
export function timeTick(at) {
  return at % 60 ? clock(at) : minute(at);
}

/** `8 s`, `5 min`, `3 h`, `2 days`. */
export function duration(seconds) {
  if (!known(seconds)) return UNKNOWN;
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole} s`;
  if (whole < 6000) return `${Math.round(whole / 60)} min`;
  if (whole < 48 * 3600) return `${Math.round(whole / 3600)} h`;
  return counted(Math.round(whole / 86400), "day");
}

/** `8 s ago`. */
export function ago(at, now) {
  return known(at) ? `${duration(now - at)} ago` : UNKNOWN;
}

/** The first letter large, for a sentence that was made for the middle of a line. */
export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function two(number) {
  return String(number).padStart(2, "0");
}

/** A number below 1,000, as it will be written, and the power of 1,000 it is of. */
function reduced(number, powers) {
  let power = 0;
  while (Math.abs(number) >= 999.5 && power < powers - 1) {
    number /= 1000;
    power += 1;
  }
  return [number, power];
}
