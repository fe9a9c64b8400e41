// The graph between the rows that are shown, as wires in lanes: the result of a row runs down a
// lane to the last row that uses it. A loop folded into its line gives wires that run back up.
// Where that would take too many lanes, long wires have none, and are drawn only for the row that
// is selected.

const MOST_LANES = 14;

function wiresOf(shown, rowOfOp, isEnd) {
  const users = shown.map(() => null);
  const loops = new Map();
  data.ops.parents.forEach((parents, op) => {
    const to = rowOfOp[op];
    for (const parent of parents) {
      if (parent < 0) continue;
      const from = rowOfOp[parent];
      if (from < to) (users[from] || (users[from] = new Set())).add(to);
      else if (from > to) loops.set(from + ":" + to, { from, to });
    }
  });
  const all = users.map((found) => (found ? [...found].sort((a, b) => a - b) : []));
  let found = null;
  for (const longest of [Infinity, 60, 15, 1]) {
    found = inLanes(shown, all, isEnd, longest);
    if (found.lanes <= MOST_LANES) break;
  }
  return { ...found, loops: [...loops.values()] };
}

function inLanes(shown, users, isEnd, longest) {
  const lane = new Int16Array(shown.length).fill(-1);
  const wires = [], apart = [];
  const until = []; // of each lane, the row where its wire ends
  const ending = new Map(); // rows, with the lanes whose wires end there
  let lanes = 1;
  shown.forEach((it, row) => {
    if (!isEnd(it)) return; // what is open is shown by what is in it
    const free = ending.get(row) || [];
    let own = free.length ? Math.min(...free) : until.findIndex((end) => end < 0);
    if (own < 0) own = until.length;
    for (const one of free) until[one] = -1;
    lane[row] = own;
    until[own] = -1;
    lanes = Math.max(lanes, own + 1);
    const to = users[row].filter((user) => user - row <= longest);
    for (const user of users[row]) if (user - row > longest) apart.push({ from: row, to: user });
    if (!to.length) return;
    const end = to[to.length - 1];
    until[own] = end;
    if (!ending.has(end)) ending.set(end, []);
    ending.get(end).push(own);
    wires.push({ from: row, end, lane: own, to });
  });
  return { lane, wires, apart, lanes };
}
