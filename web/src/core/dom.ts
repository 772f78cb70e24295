// Elements in one expression. Text is always text: nothing of a report is ever read as markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** Makes an element. Attributes that are null or false are left out; `onclick` and the like are listeners. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child instanceof Node || typeof child === "string"));
  return element;
}

/** A table cell with a number. */
export const numeric = (text: string, attributes: Attributes = {}): HTMLTableCellElement =>
  h("td", { ...attributes, class: `number ${attributes.class ?? ""}`.trim() }, text);

/** Calls once the element is about to be seen, so that a page with a hundred plots opens at once. */
export function whenSeen(element: Element, seen: () => void): void {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      seen();
    },
    { rootMargin: "400px" },
  );
  observer.observe(element);
}

/** Calls with the element's content size, now and whenever it changes. */
export function whenResized(element: Element, resized: (width: number, height: number) => void): void {
  new ResizeObserver((entries) => {
    for (const { contentRect } of entries) resized(contentRect.width, contentRect.height);
  }).observe(element);
}
