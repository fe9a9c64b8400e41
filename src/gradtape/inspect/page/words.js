// Numbers and code for people, and elements that hold text as text.

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function svg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) element.setAttribute(name, attributes[name]);
  return element;
}

function bytesText(count) {
  if (!count) return "0";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) { count /= 1024; unit += 1; }
  return (unit ? count.toFixed(1) : count) + " " + units[unit];
}

function threeDigits(number) {
  return number >= 1000 ? number.toFixed(0) : number.toPrecision(3);
}

function timeText(seconds) {
  if (!seconds) return "0";
  if (seconds >= 1) return threeDigits(seconds) + " s";
  if (seconds >= 1e-3) return threeDigits(seconds * 1e3) + " ms";
  return threeDigits(seconds * 1e6) + " µs";
}

function normText(norm, digits = 3) {
  if (norm === null) return "";
  if (Number.isNaN(norm)) return "NaN";
  if (!Number.isFinite(norm)) return "∞";
  if (norm === 0) return "0";
  const size = Math.abs(norm);
  if (size >= 1e4 || size < 1e-3) return norm.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(Number(norm.toPrecision(digits)));
}

function countText(count, word) {
  return count.toLocaleString("en") + " " + word + (count === 1 ? "" : "s");
}

const PYTHON = /(#.*)|("""|'''|[rbfRBF]{0,2}"(?:\\.|[^"\\])*"?|[rbfRBF]{0,2}'(?:\\.|[^'\\])*'?)|\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b|\b(\d[\w.]*)/g;
const KINDS = ["", "comment", "string", "keyword", "digit"];

function codeInto(parent, text, terms) {
  let last = 0;
  for (const match of text.matchAll(PYTHON)) {
    if (match.index > last) wordsInto(parent, text.slice(last, match.index), terms);
    const kind = match.findIndex((part, i) => i > 0 && part !== undefined);
    wordsInto(parent.appendChild(make("span", KINDS[kind])), match[0], terms);
    last = match.index + match[0].length;
  }
  if (last < text.length) wordsInto(parent, text.slice(last), terms);
}

function wordsInto(parent, text, terms) {
  if (!terms || !terms.length) { parent.append(text); return; }
  const lower = text.toLowerCase();
  let at = 0;
  while (at < text.length) {
    let next = -1, size = 0;
    for (const term of terms) {
      const found = lower.indexOf(term, at);
      if (found >= 0 && (next < 0 || found < next)) { next = found; size = term.length; }
    }
    if (next < 0) break;
    if (next > at) parent.append(text.slice(at, next));
    parent.append(make("mark", "", text.slice(next, next + size)));
    at = next + size;
  }
  if (at < text.length) parent.append(text.slice(at));
}
