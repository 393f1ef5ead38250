// Differences of two texts word by word, by their longest common subsequence.

/** Parts of `changed` as {text, kind: "same" | "new"}, and of `base` that are gone as {text, kind: "gone"}. */
export function wordDifference(base, changed) {
  const [one, other] = [base.split(/(\s+)/), changed.split(/(\s+)/)];
  if (one.length * other.length > 4_000_000) return [{ text: changed, kind: "same" }]; // texts of thousands of words
  const lengths = Array.from({ length: one.length + 1 }, () => new Uint16Array(other.length + 1));
  for (let i = one.length - 1; i >= 0; i -= 1) {
    for (let j = other.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = one[i] === other[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const parts = [];
  const add = (text, kind) => (parts.length && parts.at(-1).kind === kind ? (parts.at(-1).text += text) : parts.push({ text, kind }));
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      add(one[i], "same");
      i += 1;
      j += 1;
    } else if (j < other.length && (i === one.length || lengths[i][j + 1] >= lengths[i + 1][j])) {
      add(other[j], "new");
      j += 1;
    } else {
      add(one[i], "gone");
      i += 1;
    }
  }
  return parts.filter((part) => part.text !== "");
}

/** Words of the first text that other proposals do not have in that place: where the model itself is in doubt. */
export function doubtful(texts) {
  const [first, ...others] = texts;
  const words = first.split(/(\s+)/);
  const agreed = new Array(words.length).fill(0);
  for (const other of others) {
    let at = 0;
    for (const part of wordDifference(other, first)) {
      if (part.kind === "gone") continue;
      for (const word of part.text.split(/(\s+)/).filter((text) => text !== "")) {
        while (at < words.length && words[at] !== word) at += 1;
        if (part.kind === "same" && at < words.length) agreed[at] += 1;
        at += 1;
      }
    }
  }
  return words.map((text, index) => ({ text, doubtful: text.trim() !== "" && others.length > 0 && agreed[index] < others.length }));
}
