// Fewer points where there are more than can be seen. Pure.

/**
 * Where the points of one step of x begin and end. Steps are counted from 0 and not from
 * the first point, so that they stay the same ones while points come and go.
 */
export function stepsOf(x, step) {
  const steps = [];
  let begin = 0;
  for (let i = 1; i <= x.length; i += 1) {
    if (i < x.length && Math.floor(x[i] / step) === Math.floor(x[begin] / step)) continue;
    steps.push([begin, i]);
    begin = i;
  }
  return steps;
}

/** The mean of what is known in each step, or the most; null where nothing is. */
export function thinned(y, steps, isMost = false) {
  return steps.map(([begin, end]) => {
    let sum = 0;
    let many = 0;
    let most = -Infinity;
    for (let i = begin; i < end; i += 1) {
      if (y[i] === null || y[i] === undefined) continue;
      sum += y[i];
      many += 1;
      if (y[i] > most) most = y[i];
    }
    if (!many) return null;
    return isMost ? most : sum / many;
  });
}
