// The link stores what a part of the page shows, and each answer is checked against the truth.

const parts = new Map();
let given = new URLSearchParams();

/** The state of a part: its fields start with the values of the link, or of `defaults`. */
export function stateOf(name, defaults) {
  const fields = { ...defaults };
  for (const field of Object.keys(defaults)) {
    const text = given.get(`${name}.${field}`);
    if (text === null) continue;
    const isNumber = typeof defaults[field] === "number";
    if (!isNumber) fields[field] = text;
    else if (Number.isFinite(Number(text))) fields[field] = Number(text);
  }
  parts.set(name, { fields, defaults });
  return fields;
}

/** A number from the link, within its limits. */
export const within = (value, min, max) => Math.min(max, Math.max(min, Math.round(value)));

export function readLink() {
  given = new URLSearchParams(location.hash.slice(1));
  return given;
}

/** Writes the changes from the defaults into the link. */
export function saveLink(language) {
  const link = new URLSearchParams();
  if (language) link.set("lang", "zh");
  for (const [name, { fields, defaults }] of parts) {
    for (const [field, value] of Object.entries(fields)) {
      if (value !== defaults[field]) link.set(`${name}.${field}`, value);
    }
  }
  const anchor = link.toString();
  history.replaceState(null, "", anchor ? `#${anchor}` : location.pathname + location.search);
}

/** The number of answers that were compared with the exact set, and the results. */
export const proof = { asked: 0, falsePositives: 0, falseNegatives: 0, made: 0, show: () => {} };

function count(answer, truth, onPurpose = false) {
  proof.asked += 1;
  if (answer && !truth) proof.falsePositives += 1;
  if (!answer && truth) {
    proof.falseNegatives += 1;
    if (onPurpose) proof.made += 1;
    else console.error("a stored key was not found");
  }
}

/** Counts an answer against the truth. `onPurpose`: it is wrong because the page made it so. */
export function check(answer, truth, onPurpose) {
  count(answer, truth, onPurpose);
  proof.show();
  return answer;
}

/** Counts many answers. */
export function checkAll(answers, truths) {
  answers.forEach((answer, n) => count(answer, truths(n)));
  proof.show();
}

export const BIRDS = ("kestrel merlin hobby osprey kite harrier owl wren robin swift heron coot crane dove finch " +
  "goose grebe gull hoopoe ibis jay knot lark linnet magpie martin nuthatch oriole ouzel petrel pipit plover puffin " +
  "quail rail raven rook ruff shrike siskin skua snipe starling stork swallow swan teal tern thrush tit twite " +
  "wagtail warbler wheatear whimbrel wigeon wryneck avocet bittern brambling bunting buzzard chough corncrake " +
  "curlew dipper dunlin eider fulmar gannet godwit").split(" ");

export const wordsIn = (text) => text.split(" ").filter(Boolean);

/** The slots of a bucket. */
export const BUCKET_SLOTS = 4;

/** The filter of parts 2, 4 and 5: small enough to show completely. */
export const SMALL = { capacity: 49, rate: 0.03, whenFull: "refuse" };
