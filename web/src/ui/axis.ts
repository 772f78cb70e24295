// Times along the bottom of what runs from left to right.

/** Round steps of seconds, minutes and hours. */
export const STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400,
];

/** Round moments from 0 on, at most so many. */
export function ticks(duration: number, most: number): number[] {
  const step = STEPS.find((seconds) => duration / seconds <= most) ?? Math.ceil(duration / most / 86400) * 86400;
  const found: number[] = [];
  for (let i = 0; i * step <= duration + 1e-9; i++) found.push(i * step);
  return found;
}

/** `0`, `30 s`, `2 min`, `1:30 min`, in the largest unit that the duration needs. */
export function tickLabel(seconds: number, duration: number): string {
  if (seconds === 0) return "0";
  const two = (value: number): string => String(value).padStart(2, "0");
  if (duration < 180) return `${Number(seconds.toFixed(1))}\u202fs`;
  if (duration < 3 * 3600) {
    const rest = Math.round(seconds % 60);
    return `${Math.floor(seconds / 60)}${rest === 0 ? "" : `:${two(rest)}`}\u202fmin`;
  }
  const minutes = Math.round((seconds % 3600) / 60);
  return `${Math.floor(seconds / 3600)}${minutes === 0 ? "" : `:${two(minutes)}`}\u202fh`;
}
