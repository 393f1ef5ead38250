// Place of a wide table: where it does not fit, it scrolls by keys, too, and has a name.

import { html, useEffect, useRef, useState } from "../html.js";

export function Scroll({ label, children }) {
  const place = useRef(null);
  const [cut, setCut] = useState(false);
  useEffect(() => {
    const node = place.current;
    const resized = new ResizeObserver(() => setCut(node.scrollWidth > node.clientWidth));
    resized.observe(node);
    resized.observe(node.firstElementChild);
    return () => resized.disconnect();
  }, []);
  const reached = cut ? { tabindex: 0, role: "region", "aria-label": label } : {};
  return html`<div class="scroll" ref=${place} ...${reached}>${children}</div>`;
}
