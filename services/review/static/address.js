// Addresses of pages: everything behind the number sign.

/** Place that an address stands for: null for the queue, else {task, head, queue, request} of a review. */
export function placeOf(hash) {
  const [page, task, head, queue, request] = hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return page === "review" && task ? { task, head: head || "", queue: queue || "blind", request } : null;
}

/** Address of the page of operators. */
export const OPERATORS = "#/operators";

export function addressOf(place) {
  const parts = [place.task, place.head, place.queue, ...(place.request ? [place.request] : [])];
  return `#/review/${parts.map(encodeURIComponent).join("/")}`;
}
