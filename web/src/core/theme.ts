// Light or dark, as the system says.

import { COLOURINGS, INKS, paletteOf, type Colouring, type Palette, type Theme } from "../map/palette";
import { css } from "./colour";

const dark = window.matchMedia("(prefers-color-scheme: dark)");

export const theme = (): Theme => (dark.matches ? "dark" : "light");

export const palette = (colouring: Colouring = COLOURINGS[0]): Palette => paletteOf(colouring, theme());

/** Calls now and when the system changes its mind. The colours of runs and types are put where the style sheet finds them. */
export function onTheme(changed: () => void): void {
  const apply = (): void => {
    const inks = INKS[theme()];
    const root = document.documentElement.style;
    root.setProperty("--a", css(inks.a));
    root.setProperty("--b", css(inks.b));
    root.setProperty("--paper", css(inks.paper));
    root.setProperty("--polluted", css(inks.polluted));
    for (const [i, name] of ["unmovable", "movable", "reclaimable", "highatomic"].entries()) {
      root.setProperty(`--${name}`, css(inks.types[i]));
    }
    changed();
  };
  dark.addEventListener("change", apply);
  apply();
}
