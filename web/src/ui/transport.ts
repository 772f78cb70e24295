// The time cursor: a slider over all samples, play and pause.

import { chosen, type Context } from "../core/context";
import { h } from "../core/dom";
import { clock } from "../core/format";
import type { Reels } from "../core/reels";
import { mergeTimes, sampleAt } from "../data/times";

/** A run plays in this many seconds, however long it took. */
const PLAY_SECONDS = 20;

export class Transport {
  readonly element: HTMLElement;
  private readonly context: Context;
  private readonly reels: Reels;
  private times: Float64Array = new Float64Array([0]);
  private readonly slider: HTMLInputElement;
  private readonly play: HTMLButtonElement;
  private readonly now = h("output", { class: "now" });
  private playing = false;

  constructor(context: Context, reels: Reels) {
    this.context = context;
    this.reels = reels;
    this.slider = h("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Time" });
    this.slider.addEventListener("input", () => this.jump(Number(this.slider.value)));
    this.play = h("button", { type: "button", class: "play", "aria-label": "Play", onclick: () => this.toggle() }, "▶");
    this.element = h(
      "div",
      { class: "transport", role: "group", "aria-label": "Time cursor" },
      this.play,
      this.button("‹", "One sample back", -1),
      this.button("›", "One sample on", 1),
      this.slider,
      this.now,
    );
    context.store.watch(["a", "b"], () => this.retime());
    context.store.watch(["time"], () => this.show());
    reels.onProgress(() => this.retime());
  }

  private button(sign: string, label: string, by: number): HTMLElement {
    return h("button", { type: "button", class: "quiet", "aria-label": label, onclick: () => this.step(by) }, sign);
  }

  private retime(): void {
    const state = this.context.store.state;
    const known = chosen(this.context, state).flatMap(({ machine }) => {
      const reel = this.reels.of(machine);
      return reel ? [reel.times] : [];
    });
    if (known.length > 0) this.times = mergeTimes(...known);
    this.slider.max = String(this.times.length - 1);
    this.show();
  }

  private get index(): number {
    return sampleAt(this.times, this.context.store.state.time);
  }

  private show(): void {
    const { time } = this.context.store.state;
    this.slider.value = String(this.index);
    this.slider.setAttribute("aria-valuetext", `${clock(time)}, sample ${this.index + 1} of ${this.times.length}`);
    this.now.textContent = `${clock(time)} of ${clock(this.times[this.times.length - 1])}`;
  }

  private jump(index: number): void {
    const at = Math.min(Math.max(0, index), this.times.length - 1);
    this.context.store.set({ time: this.times[at] });
  }

  /** Moves by samples. */
  step(by: number): void {
    this.pause();
    this.jump(this.index + by);
  }

  /** To the first or the last sample. */
  end(last: boolean): void {
    this.pause();
    this.jump(last ? this.times.length - 1 : 0);
  }

  toggle(): void {
    if (this.playing) this.pause();
    else this.start();
  }

  private pause(): void {
    this.playing = false;
    this.play.textContent = "▶";
    this.play.setAttribute("aria-label", "Play");
  }

  private start(): void {
    const { store } = this.context;
    const last = this.times[this.times.length - 1];
    if (store.state.time >= last) store.set({ time: 0 });
    this.playing = true;
    this.play.textContent = "❚❚";
    this.play.setAttribute("aria-label", "Pause");
    let before = performance.now();
    const tick = (now: number): void => {
      if (!this.playing) return;
      const time = store.state.time + (((now - before) / 1000) * last) / PLAY_SECONDS;
      before = now;
      store.set({ time: Math.min(time, last) });
      if (time >= last) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
