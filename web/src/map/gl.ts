// The map as a texture: a byte a block goes to the GPU as it is, colours are looked up in the shader.

import { gapOf, insetOf, LEVEL_SHARE, MOST_SAMPLES, rimOf, STACK_FROM, type Painter, type Scene } from "./scene";
import type { Rgb } from "../core/colour";
import type { Palette } from "./palette";

/** Blocks in a row of the texture: 2^20 blocks (2 TiB) are 512 rows, well below what every WebGL2 device allows. */
const TEXTURE_COLUMNS = 2048;

const VERTEX = `#version 300 es
const vec2 CORNERS[3] = vec2[3](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0));
void main() { gl_Position = vec4(CORNERS[gl_VertexID], 0.0, 1.0); }`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform usampler2D frame;
uniform usampler2D other;
uniform sampler2D single;
uniform sampler2D pairs;
uniform bool paired;
uniform bool stacked;
uniform float paneHeight;
uniform vec2 origin;
uniform float cell;
uniform float gap;
uniform float rim;
uniform float inset;
uniform int columns;
uniform int first;
uniform int blocks;
uniform vec3 paper;
uniform vec3 types[4];
uniform vec3 polluted;
out vec4 colour;

const float LEVEL_SHARE[4] = float[4](${LEVEL_SHARE.map((share) => share.toFixed(6)).join(", ")});

uint byteOf(usampler2D map, int block) {
  return texelFetch(map, ivec2(block & ${TEXTURE_COLUMNS - 1}, block >> ${Math.log2(TEXTURE_COLUMNS)}), 0).r;
}

vec4 colourOf(int block) {
  int byte = int(byteOf(frame, block));
  if (paired) return texelFetch(pairs, ivec2(int(byteOf(other, block)), byte), 0);
  return texelFetch(single, ivec2(byte, 0), 0);
}

int blockAt(vec2 at) {
  ivec2 place = ivec2(floor(at));
  if (place.x < 0 || place.y < 0 || place.x >= columns) return -1;
  int index = place.y * columns + place.x;
  return index < blocks ? first + index : -1;
}

// What is in the block, from the bottom: pinned, movable, free pages; the rim has the colour of its type.
vec3 inside(int block, vec2 within) {
  int byte = int(byteOf(frame, block));
  int type = byte & 3;
  if ((byte >> 2) == 0) return colourOf(block).rgb;
  vec2 pixel = within * cell;
  float side = cell - gap;
  float edge = min(min(pixel.x, pixel.y), side - max(pixel.x, pixel.y));
  if (edge < rim) return types[type];
  if (edge < rim + inset) return paper;
  vec3 share = vec3(LEVEL_SHARE[byte >> 6], LEVEL_SHARE[(byte >> 4) & 3], LEVEL_SHARE[(byte >> 2) & 3]);
  float height = (side - rim - inset - pixel.y) / (side - 2.0 * (rim + inset)) * (share.x + share.y + share.z);
  if (height <= share.x) return type == 1 ? polluted : types[type];
  return height <= share.x + share.y ? types[1] : paper;
}

void main() {
  vec2 pixel = vec2(gl_FragCoord.x, paneHeight - gl_FragCoord.y) - origin;
  if (cell >= 1.0) {
    vec2 at = pixel / cell;
    int block = blockAt(at);
    if (block < 0) discard;
    vec2 within = fract(at);
    if (max(within.x, within.y) * cell >= cell - gap) discard;
    bool open = stacked && !paired && cell >= ${STACK_FROM.toFixed(1)};
    colour = vec4(open ? inside(block, within) : colourOf(block).rgb, 1.0);
    return;
  }
  int samples = min(${MOST_SAMPLES}, int(ceil(1.0 / cell)));
  vec4 sum = vec4(0.0);
  for (int y = 0; y < samples; y++) {
    for (int x = 0; x < samples; x++) {
      vec2 at = (pixel - 0.5 + (vec2(x, y) + 0.5) / float(samples)) / cell;
      int block = blockAt(at);
      if (block < 0) continue;
      vec4 one = colourOf(block);
      sum += vec4(one.rgb * one.rgb, 1.0) * one.a;
    }
  }
  if (sum.a == 0.0) discard;
  colour = vec4(sqrt(sum.rgb / sum.a), 1.0);
}`;

function compile(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("WebGL2 context is lost");
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
      throw new Error(`shader: ${gl.getShaderInfoLog(shader) ?? "unknown error"}`);
    }
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

const UNIFORMS = [
  "frame", "other", "single", "pairs", "paired", "stacked", "paneHeight", "origin", "cell", "gap", "rim", "inset", "columns", "first",
  "blocks", "paper", "types", "polluted",
] as const; // prettier-ignore

const floats = (colour: Rgb): [number, number, number] => [colour[0] / 255, colour[1] / 255, colour[2] / 255];

export class GlPainter implements Painter {
  readonly kind = "WebGL2";
  private readonly gl: WebGL2RenderingContext;
  private readonly uniform: Record<(typeof UNIFORMS)[number], WebGLUniformLocation | null>;
  private readonly textures: WebGLTexture[];
  private sizes = [0, 0];
  private palette: Palette | null = null;

  constructor(gl: WebGL2RenderingContext) {
    this.gl = gl;
    const program = compile(gl);
    gl.useProgram(program);
    gl.bindVertexArray(gl.createVertexArray());
    const entries = UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]);
    this.uniform = Object.fromEntries(entries) as typeof this.uniform;
    this.textures = [0, 1, 2, 3].map((unit) => {
      const texture = gl.createTexture();
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
      return texture;
    });
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.uniform1i(this.uniform.frame, 0);
    gl.uniform1i(this.uniform.other, 1);
    gl.uniform1i(this.uniform.single, 2);
    gl.uniform1i(this.uniform.pairs, 3);
    this.allocate(1, 1);
  }

  paint(scene: Scene): void {
    const { gl, uniform } = this;
    gl.viewport(0, 0, scene.width, scene.height);
    if (this.palette !== scene.palette) this.usePalette(scene.palette);
    this.upload(0, scene.frame);
    if (scene.other) this.upload(1, scene.other);
    const [r, g, b] = floats(scene.palette.inks.paper);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(r, g, b, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    gl.uniform1i(uniform.paired, scene.other ? 1 : 0);
    gl.uniform1i(uniform.stacked, scene.palette.stacked ? 1 : 0);
    gl.uniform1f(uniform.paneHeight, scene.height);
    gl.uniform1f(uniform.cell, scene.cell);
    gl.uniform1f(uniform.gap, gapOf(scene.cell));
    gl.uniform1f(uniform.rim, rimOf(scene.cell));
    gl.uniform1f(uniform.inset, insetOf(scene.cell));
    gl.uniform1i(uniform.columns, scene.layout.columns);
    for (const band of scene.layout.bands) {
      const top = scene.top + band.top * scene.cell;
      const from = Math.max(0, Math.floor(top));
      const to = Math.min(scene.height, Math.ceil(top + band.rows * scene.cell));
      if (to <= from) continue;
      gl.scissor(0, scene.height - to, scene.width, to - from);
      gl.uniform2f(uniform.origin, scene.left, top);
      gl.uniform1i(uniform.first, band.first);
      gl.uniform1i(uniform.blocks, band.blocks);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  private usePalette(palette: Palette): void {
    const { gl, uniform } = this;
    gl.activeTexture(gl.TEXTURE2);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette.single);
    gl.activeTexture(gl.TEXTURE3);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 256, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette.pair);
    gl.uniform3fv(uniform.paper, floats(palette.inks.paper));
    gl.uniform3fv(uniform.types, palette.inks.types.flatMap(floats));
    gl.uniform3fv(uniform.polluted, floats(palette.inks.polluted));
    this.palette = palette;
  }

  /** Room for the bytes of so many blocks on a texture unit. */
  private allocate(unit: 0 | 1, blocks: number): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[unit]);
    const rows = Math.ceil(blocks / TEXTURE_COLUMNS);
    gl.texImage2D(
      gl.TEXTURE_2D, 0, gl.R8UI, TEXTURE_COLUMNS, rows, 0, gl.RED_INTEGER, gl.UNSIGNED_BYTE, null,
    ); // prettier-ignore
    this.sizes[unit] = blocks;
    if (unit === 0 && this.sizes[1] === 0) this.allocate(1, 1);
  }

  private upload(unit: 0 | 1, frame: Uint8Array): void {
    const { gl } = this;
    if (this.sizes[unit] !== frame.length) this.allocate(unit, frame.length);
    gl.activeTexture(gl.TEXTURE0 + unit);
    const whole = Math.floor(frame.length / TEXTURE_COLUMNS);
    const rest = frame.length % TEXTURE_COLUMNS;
    const put = (row: number, columns: number, rows: number, bytes: Uint8Array): void =>
      gl.texSubImage2D(
        gl.TEXTURE_2D, 0, 0, row, columns, rows, gl.RED_INTEGER, gl.UNSIGNED_BYTE, bytes,
      ); // prettier-ignore
    if (whole > 0) put(0, TEXTURE_COLUMNS, whole, frame.subarray(0, whole * TEXTURE_COLUMNS));
    if (rest > 0) put(whole, rest, 1, frame.subarray(whole * TEXTURE_COLUMNS));
  }
}
