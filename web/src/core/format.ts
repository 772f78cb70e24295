// Numbers as people read them. Digits are grouped by a thin space that does not break, as in SI; a comma or point
// would mean different things to different readers.

const THIN = "\u202f";

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** A count or measure: whole numbers in full, others to three significant digits. */
export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const sign = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (Number.isInteger(size) || size >= 1000) return sign + grouped(String(Math.round(size)));
  if (size === 0) return "0";
  if (size < 0.001) return sign + size.toExponential(1);
  return sign + String(Number(size.toPrecision(3)));
}

/** A change as a fraction: `+12 %`, `−48.7 %`. */
export function change(fraction: number | null | undefined): string {
  if (fraction === null || fraction === undefined || Number.isNaN(fraction)) return "–";
  const percent = Math.abs(fraction) * 100;
  const digits = percent >= 100 ? percent.toFixed(0) : percent.toFixed(1);
  const rounded = Number(digits) === 0;
  return `${rounded ? "±" : fraction > 0 ? "+" : "−"}${rounded ? "0" : grouped(digits)}${THIN}%`;
}

/** A moment or a length: `7.25 s`, `2:05 min`, `1:02:05 h`. */
export function clock(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)}${THIN}s`;
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)}${THIN}min`;
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${THIN}h`;
}

/** Nanoseconds to three digits: `1.05 µs`. */
export function nanoseconds(value: number): string {
  if (value === 0) return "0";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const) {
    if (value >= size) return `${Number((value / size).toPrecision(3))}${THIN}${unit}`;
  }
  return `${value}${THIN}ns`;
}

/** Bytes in binary units: `16 GiB`. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${Number(size.toPrecision(4))}${THIN}${units[unit]}`;
}

/** p as in papers: never 0. */
export function probability(p: number | null | undefined): string {
  if (p === null || p === undefined) return "–";
  return p < 0.001 ? "<0.001" : p.toFixed(3);
}
