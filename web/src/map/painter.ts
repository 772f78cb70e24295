// The two ways to paint a map.

import { CanvasPainter } from "./canvas";
import { GlPainter } from "./gl";
import type { Painter } from "./scene";

/** Names of renderers that are no GPU. `failIfMajorPerformanceCaveat` alone does not catch SwiftShader. */
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

let gpu: boolean | null = null;

/** Whether WebGL2 is there, and runs on a GPU. Asked on a canvas of its own, because a canvas keeps its first context. */
function hasGpu(): boolean {
  if (gpu !== null) return gpu;
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  const info = gl?.getExtension("WEBGL_debug_renderer_info");
  gpu = gl !== null && !SOFTWARE.test(String(gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER)));
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return gpu;
}

/**
 * A painter on a canvas: WebGL2 on a GPU, else Canvas2D. WebGL2 in software is asked for only by name: it paints every
 * pixel of every frame, an order of magnitude slower than Canvas2D, which paints what has changed.
 */
export function painterOn(canvas: HTMLCanvasElement, wanted: Painter["kind"] | null): Painter {
  if (wanted === "WebGL2" || (wanted === null && hasGpu())) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false });
    if (gl) return new GlPainter(gl);
  }
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) throw new Error("this browser can paint neither with WebGL2 nor with Canvas2D");
  return new CanvasPainter(context);
}
