// Colours as numbers: contrast, mixing, and what people with colour-vision deficiencies see.

export type Rgb = readonly [number, number, number];

export function rgb(hex: string): Rgb {
  const value = Number.parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

const linear = (channel: number): number => {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
};

/** Relative luminance as WCAG 2 defines it. */
export function luminance([r, g, b]: Rgb): number {
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

/** Contrast as WCAG 2 defines it: 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Mixes as screens do, without regard to light: tints of a colour keep its hue better so. */
export function tint(from: Rgb, to: Rgb, share: number): Rgb {
  const channel = (a: number, b: number): number => Math.round(a * (1 - share) + b * share);
  return [channel(from[0], to[0]), channel(from[1], to[1]), channel(from[2], to[2])];
}

type Matrix = readonly [Rgb, Rgb, Rgb];

/** Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB. */
export const DEFICIENCIES: Record<"protanopia" | "deuteranopia" | "tritanopia", Matrix> = {
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

type Lab = readonly [number, number, number];

function oklab(r: number, g: number, b: number): Lab {
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
  ];
}

/** Distance of two colours in OKLab (0 to about 1), as seen with a deficiency, or without. */
export function distance(a: Rgb, b: Rgb, deficiency?: Matrix): number {
  const seen = (colour: Rgb): Lab => {
    const light = colour.map(linear);
    if (!deficiency) return oklab(light[0], light[1], light[2]);
    const [r, g, bl] = deficiency.map((row) =>
      Math.min(1, Math.max(0, row[0] * light[0] + row[1] * light[1] + row[2] * light[2])),
    );
    return oklab(r, g, bl);
  };
  const [x, y] = [seen(a), seen(b)];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}
