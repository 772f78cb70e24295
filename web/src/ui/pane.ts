// One map: a canvas with the blocks of a run, or of the difference of two, and what the pointer and the keys do on it.

import type { Context } from "../core/context";
import { h, whenResized } from "../core/dom";
import type { Reels } from "../core/reels";
import { shownSample } from "../core/reels";
import { palette } from "../core/theme";
import { Projector } from "../data/film";
import type { Machine } from "../data/machine";
import { clamp, pan, project, reveal, zoomAt, type Camera, type Projection } from "../map/camera";
import { blockAt, cellOf, layoutOf, neighbour, type Layout } from "../map/layout";
import { painterOn } from "../map/painter";
import type { Painter } from "../map/scene";

const WHEEL_STEP = 1.0015;
const KEY_STEP = 1.6;
/** A press that moves less than this is a click. */
const CLICK_PIXELS = 4;

/** For tests, and for those whose GPU lies: `?painter=Canvas2D` or `?painter=WebGL2`. */
const asked = new URLSearchParams(location.search).get("painter");
const wantedPainter = asked === "Canvas2D" || asked === "WebGL2" ? asked : null;

export interface PaneEvents {
  /** The block under the pointer, or none. */
  hover: (block: number | null) => void;
}

export class Pane {
  readonly element: HTMLElement;
  private canvas: HTMLCanvasElement;
  private painter: Painter;
  private readonly stage: HTMLElement;
  private readonly labels: HTMLElement;
  private readonly selected: HTMLElement;
  private readonly hovered: HTMLElement;
  private readonly context: Context;
  private readonly reels: Reels;
  private readonly events: PaneEvents;
  private machines: Machine[] = [];
  private projectors = new Map<Machine, Projector>();
  private layout: Layout | null = null;
  private size = { width: 0, height: 0 };
  private waiting = false;

  constructor(context: Context, reels: Reels, events: PaneEvents, name: string) {
    this.context = context;
    this.reels = reels;
    this.events = events;
    this.canvas = this.newCanvas();
    this.painter = painterOn(this.canvas, wantedPainter);
    this.labels = h("div", { class: "zones", "aria-hidden": "true" });
    this.selected = h("div", { class: "mark selected", hidden: true });
    this.hovered = h("div", { class: "mark hovered", hidden: true });
    this.stage = h(
      "div",
      {
        class: "stage",
        tabindex: 0,
        role: "application",
        "aria-roledescription": "block map",
        "aria-label": `${name}. Arrow keys choose a block, plus and minus zoom, 0 shows the whole machine`,
        "aria-describedby": "block-spoken",
      },
      this.canvas,
      this.labels,
      this.hovered,
      this.selected,
    );
    this.element = this.stage;
    this.listen();
    whenResized(this.stage, (width, height) => {
      this.size = { width, height };
      this.relayout();
    });
  }

  get paintedBy(): Painter["kind"] {
    return this.painter.kind;
  }

  /** Shows a run, or with two the difference. */
  show(machines: Machine[]): void {
    this.machines = machines.filter((machine) => machine.hasMap);
    this.relayout();
  }

  /** Paints in the next frame, however often it is asked for. */
  repaint(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  hover(block: number | null): void {
    this.mark(this.hovered, block);
  }

  private newCanvas(): HTMLCanvasElement {
    const canvas = h("canvas", { "aria-hidden": "true" });
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault();
      // A canvas keeps the kind of its first context, so the fallback needs another one.
      const other = h("canvas", { "aria-hidden": "true" });
      this.canvas.replaceWith(other);
      this.canvas = other;
      this.painter = painterOn(other, "Canvas2D");
      this.relayout();
    });
    return canvas;
  }

  private relayout(): void {
    const [machine] = this.machines;
    if (!machine || this.size.width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.size.width * ratio);
    this.canvas.height = Math.round(this.size.height * ratio);
    this.layout = layoutOf(machine.zones, machine.blocks, this.size.width / this.size.height);
    this.labels.replaceChildren(
      ...this.layout.bands.map((band) => h("span", {}, band.label)),
    );
    this.paint();
  }

  private camera(): Camera {
    const { zoom, x, y } = this.context.store.state;
    return { zoom, x, y };
  }

  private projection(layout: Layout): Projection {
    return project(clamp(this.camera(), layout, this.size), layout, this.size);
  }

  private frameOf(machine: Machine): Uint8Array | null {
    const reel = this.reels.of(machine);
    if (!reel) return null;
    let projector = this.projectors.get(machine);
    if (!projector) {
      // Frames of runs that are no longer shown are let go: of a TiB, each takes half a megabyte.
      this.projectors = new Map([...this.projectors].filter(([kept]) => this.machines.includes(kept)));
      projector = new Projector(reel.film);
      this.projectors.set(machine, projector);
    }
    return projector.seek(shownSample(reel, this.context.store.state.time));
  }

  private paint(): void {
    const { layout } = this;
    const frames = this.machines.map((machine) => this.frameOf(machine));
    const [frame, other] = frames;
    if (!layout || !frame || frames.includes(null)) return;
    const ratio = this.canvas.width / this.size.width;
    const { cell, left, top } = this.projection(layout);
    this.painter.paint({
      width: this.canvas.width,
      height: this.canvas.height,
      layout,
      cell: cell * ratio,
      left: left * ratio,
      top: top * ratio,
      frame,
      other: other ? fitted(other, frame.length) : null,
      palette: palette(this.context.store.state.colouring),
    });
    for (const [i, band] of layout.bands.entries()) {
      const label = this.labels.children[i] as HTMLElement;
      const y = top + band.top * cell;
      label.hidden = y > this.size.height - 12 || y + band.rows * cell < 12;
      label.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, y)}px)`;
    }
    this.mark(this.selected, this.context.store.state.block);
    // What was painted, for tests and for those who wonder.
    this.canvas.dataset.painted = String(Number(this.canvas.dataset.painted ?? 0) + 1);
  }

  private mark(mark: HTMLElement, block: number | null): void {
    const at = this.layout && block !== null ? cellOf(this.layout, block) : null;
    mark.hidden = at === null;
    if (!at || !this.layout) return;
    const { cell, left, top } = this.projection(this.layout);
    const side = Math.max(cell, 5);
    const middle = (cell - side) / 2;
    mark.style.width = mark.style.height = `${side}px`;
    mark.style.transform = `translate(${left + at.x * cell + middle}px, ${top + at.y * cell + middle}px)`;
  }

  /** The block at a point of the window. */
  private blockUnder(event: MouseEvent): number | null {
    if (!this.layout) return null;
    const box = this.stage.getBoundingClientRect();
    const { cell, left, top } = this.projection(this.layout);
    return blockAt(this.layout, (event.clientX - box.left - left) / cell, (event.clientY - box.top - top) / cell);
  }

  private zoom(factor: number, pointer = { x: this.size.width / 2, y: this.size.height / 2 }): void {
    if (this.layout) this.context.store.set(zoomAt(this.camera(), this.layout, this.size, factor, pointer));
  }

  private listen(): void {
    const { stage } = this;
    stage.addEventListener(
      "wheel",
      (event) => {
        // Scrolling past the map must not zoom it: the wheel zooms with a modifier, or once the map has the focus.
        if (!event.ctrlKey && !event.metaKey && document.activeElement !== stage) return;
        event.preventDefault();
        const box = stage.getBoundingClientRect();
        const pointer = { x: event.clientX - box.left, y: event.clientY - box.top };
        this.zoom(WHEEL_STEP ** -event.deltaY, pointer);
      },
      { passive: false },
    );
    stage.addEventListener("pointermove", (event) => this.events.hover(this.blockUnder(event)));
    stage.addEventListener("pointerleave", () => this.events.hover(null));
    stage.addEventListener("pointerdown", (event) => this.press(event));
    stage.addEventListener("dblclick", (event) => {
      const box = stage.getBoundingClientRect();
      this.zoom(3, { x: event.clientX - box.left, y: event.clientY - box.top });
    });
    stage.addEventListener("keydown", (event) => this.key(event));
  }

  private press(down: PointerEvent): void {
    if (down.button !== 0) return;
    const { stage } = this;
    let last = { x: down.clientX, y: down.clientY };
    let moved = 0;
    stage.setPointerCapture(down.pointerId);
    const move = (event: PointerEvent): void => {
      const [dx, dy] = [event.clientX - last.x, event.clientY - last.y];
      moved += Math.abs(dx) + Math.abs(dy);
      last = { x: event.clientX, y: event.clientY };
      if (this.layout && moved >= CLICK_PIXELS) this.context.store.set(pan(this.camera(), this.layout, this.size, dx, dy));
    };
    const up = (event: PointerEvent): void => {
      stage.removeEventListener("pointermove", move);
      stage.removeEventListener("pointerup", up);
      stage.removeEventListener("pointercancel", up);
      const block = this.blockUnder(event);
      if (event.type === "pointerup" && moved < CLICK_PIXELS && block !== null) this.context.store.set({ block });
    };
    stage.addEventListener("pointermove", move);
    stage.addEventListener("pointerup", up);
    stage.addEventListener("pointercancel", up);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const steps: Record<string, readonly [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const step = steps[event.key];
    if (step) {
      const stride = event.shiftKey ? 8 : 1;
      for (let i = 0; i < stride; i++) this.step(step[0], step[1]);
    } else if (event.key === "+" || event.key === "=") this.zoomToSelected(KEY_STEP);
    else if (event.key === "-") this.zoomToSelected(1 / KEY_STEP);
    else if (event.key === "0") this.context.store.set({ zoom: 1, x: 0.5, y: 0.5 });
    else if (event.key === "Escape") this.context.store.set({ block: null });
    else return;
    event.preventDefault();
  }

  private step(dx: number, dy: number): void {
    const { layout } = this;
    if (!layout) return;
    const { block } = this.context.store.state;
    const next = block === null ? layout.bands[0].first : neighbour(layout, block, dx, dy);
    const at = cellOf(layout, next);
    this.context.store.set({ block: next, ...(at ? reveal(this.camera(), layout, this.size, at) : {}) });
  }

  /** Zooms around the selected block, if one is in sight. */
  zoomToSelected(factor: number): void {
    const { layout } = this;
    if (!layout) return;
    const { block } = this.context.store.state;
    const at = block === null ? null : cellOf(layout, block);
    if (!at) return this.zoom(factor);
    const revealed = reveal(this.camera(), layout, this.size, at);
    const { cell, left, top } = project(revealed, layout, this.size);
    const pointer = { x: left + (at.x + 0.5) * cell, y: top + (at.y + 0.5) * cell };
    this.context.store.set(zoomAt(revealed, layout, this.size, factor, pointer));
  }
}

/** A frame of as many blocks as another one: machines of different sizes are compared block by block from the start. */
function fitted(frame: Uint8Array, blocks: number): Uint8Array {
  if (frame.length === blocks) return frame;
  const same = new Uint8Array(blocks);
  same.set(frame.subarray(0, blocks));
  return same;
}
