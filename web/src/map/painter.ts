// The two ways to paint a map.

import { CanvasPainter } from "./canvas";
import { GlPainter } from "./gl";
import type { Painter } from "./scene";

/** A painter on a canvas: WebGL2 if there is any, else Canvas2D. */
export function painterOn(canvas: HTMLCanvasElement, wanted: "auto" | "Canvas2D"): Painter {
  if (wanted === "auto") {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    if (gl) return new GlPainter(gl);
  }
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) throw new Error("this browser can paint neither with WebGL2 nor with Canvas2D");
  return new CanvasPainter(context);
}
