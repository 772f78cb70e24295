// Which two runs are looked at, and the way to every part of the page.

import { type Context } from "../core/context";
import { h } from "../core/dom";

export interface Part {
  id: string;
  title: string;
}

function select(context: Context, letter: "A" | "B"): HTMLElement {
  const { machines, store } = context;
  const options = machines.map((machine) => h("option", { value: machine.index }, machine.name));
  if (letter === "B") options.push(h("option", { value: "" }, "no second run"));
  const control = h("select", { "aria-label": `Run ${letter}` }, ...options);
  const key = letter === "A" ? "a" : "b";
  control.addEventListener("change", () => {
    store.set(letter === "A" ? { a: Number(control.value) } : { b: control.value === "" ? null : Number(control.value) });
  });
  store.watch([key], (state) => (control.value = String(state[key] ?? "")));
  return h("label", { class: "pick" }, badge(letter), control);
}

export function badge(letter: "A" | "B"): HTMLElement {
  return h("span", { class: `badge ${letter.toLowerCase()}`, "aria-hidden": "true" }, letter);
}

export function picker(context: Context, parts: Part[]): HTMLElement {
  const { store, machines } = context;
  const swap = h(
    "button",
    {
      type: "button",
      class: "quiet",
      title: "Swap A and B",
      "aria-label": "Swap A and B",
      onclick: () => {
        const { a, b } = store.state;
        if (b !== null) store.set({ a: b, b: a });
      },
    },
    "⇄",
  );
  const links = parts.map((part) => {
    const link = h("a", { href: `#${part.id}` }, part.title);
    // The address behind # belongs to the deep link.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(part.id);
      target?.scrollIntoView();
      target?.focus({ preventScroll: true });
    });
    return h("li", {}, link);
  });
  return h(
    "nav",
    { class: "picker", "aria-label": "Runs and parts of the page" },
    h("div", { class: "picks" }, select(context, "A"), machines.length > 1 && swap, machines.length > 1 && select(context, "B")),
    h("ul", {}, ...links),
  );
}

/** A part of the page: a region with a heading that the navigation can put the focus on. */
export function section(part: Part, about: string, ...children: (Node | false | null)[]): HTMLElement {
  return h(
    "section",
    { id: part.id, tabindex: -1, "aria-labelledby": `${part.id}-title` },
    h("h2", { id: `${part.id}-title` }, part.title),
    about !== "" && h("p", { class: "about" }, about),
    ...children,
  );
}
