// The page: reads its data, puts the parts together, keeps the address up to date.

import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/map.css";
import "./style/tables.css";
import type { Context } from "./core/context";
import { chosen } from "./core/context";
import { h } from "./core/dom";
import { readLink, writeLink } from "./core/link";
import { Reels } from "./core/reels";
import { initialState, Store, type Key } from "./core/store";
import { onTheme } from "./core/theme";
import { Machine } from "./data/machine";
import { readView, type View } from "./data/view";
import { compareSection } from "./ui/compare";
import { header } from "./ui/header";
import { help, listenForKeys } from "./ui/keys";
import { latencySection } from "./ui/latency";
import { mapSection } from "./ui/map";
import { matrixSection } from "./ui/matrix";
import { picker, type Part } from "./ui/picker";
import { plotsSection } from "./ui/plots";
import { runsSection } from "./ui/runs";
import { slicesSection } from "./ui/slices";
import { Transport } from "./ui/transport";

const LINKED: Key[] = ["a", "b", "time", "block", "mode", "colouring", "zoom", "x", "y", "range"];
/** Browsers refuse more than some hundred changes of the address in half a minute. */
const LINK_MS = 400;

/** Keeps the state and the address the same, both ways. */
function link(context: Context): void {
  const { store, machines } = context;
  const names = machines.map((machine) => machine.name);
  const initial = store.state;
  store.set(readLink(location.hash, initial, names));
  let written = location.hash.replace(/^#/, "");
  let timer = 0;
  store.watch(LINKED, () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      written = writeLink(store.state, initial, names);
      history.replaceState(null, "", written === "" ? location.href.split("#")[0] : `#${written}`);
    }, LINK_MS);
  });
  addEventListener("hashchange", () => {
    if (location.hash.replace(/^#/, "") !== written) store.set(readLink(location.hash, initial, names));
  });
}

function build(view: View): HTMLElement[] {
  const machines = view.runs.map((run, index) => new Machine(run, index));
  const store = new Store(initialState(machines), (flush) => requestAnimationFrame(flush));
  const context: Context = { view, machines, store };
  link(context);
  const reels = new Reels(context);
  const transport = new Transport(context, reels);
  const part = (id: string, title: string): Part => ({ id, title });
  const map = part("map", "Block map");
  const parts: [Part, HTMLElement | null][] = [
    [map, machines.some((machine) => machine.hasMap) ? mapSection(context, reels, map) : null],
    ...([
      [part("plots", "Plots"), plotsSection],
      [part("comparison", "Comparison"), compareSection],
      [part("events", "Fragmentation events"), matrixSection],
      [part("latency", "Latency"), latencySection],
      [part("time", "What took time"), slicesSection],
      [part("runs", "Runs"), runsSection],
    ] as const).map(([own, make]): [Part, HTMLElement | null] => [own, make(context, own)]),
  ];
  const shown = parts.filter((one): one is [Part, HTMLElement] => one[1] !== null);
  const dialog = help();
  listenForKeys(context, transport, dialog);
  const timed = (id: string): boolean => id === "map" || id === "plots";
  const moment = shown.filter(([{ id }]) => timed(id)).map(([, element]) => element);
  const hasTime = chosen(context, store.state).some(({ machine }) => machine.hasMap);
  return [
    h("a", { class: "skip", href: "#map", onclick: skip }, "Skip to the block map"),
    header(context),
    picker(context, shown.map(([own]) => own)),
    h(
      "main",
      {},
      moment.length > 0 && h("div", { class: "moment" }, ...moment, hasTime && transport.element),
      ...shown.filter(([{ id }]) => !timed(id)).map(([, element]) => element),
    ),
    h(
      "footer",
      {},
      h("button", { type: "button", onclick: () => dialog.showModal() }, "Keys"),
      h("p", {}, "This page is one file and asks nobody for anything. Plots by uPlot (MIT)."),
    ),
    dialog,
  ];
}

/** The address belongs to the deep link, so the skip link moves the focus by itself. */
function skip(event: Event): void {
  event.preventDefault();
  const target = document.querySelector<HTMLElement>(".stage") ?? document.querySelector<HTMLElement>("main section");
  target?.focus();
}

function start(): void {
  onTheme(() => undefined);
  const text = document.getElementById("fraglab-view")?.textContent ?? "null";
  try {
    const view = readView(text);
    document.title = view.title ?? "fraglab report";
    document.body.append(...build(view));
  } catch (error) {
    document.body.append(h("main", { class: "failed" }, h("h1", {}, "fraglab report"), h("p", { role: "alert" }, (error as Error).message)));
  }
}

start();
