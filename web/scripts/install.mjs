// Puts the built page where the Rust side includes it from.

import { copyFileSync, mkdirSync, readFileSync } from "node:fs";

const page = "dist/index.html";
const text = readFileSync(page, "utf8");
const placeholder = '<script type="application/json" id="fraglab-view">null</script>';
if (text.split(placeholder).length !== 2) throw new Error(`${page} does not hold the placeholder once`);
if (/<(script|link|img)[^>]+(src|href)=/.test(text)) throw new Error(`${page} asks for another file`);
mkdirSync("../crates/fraglab/assets", { recursive: true });
copyFileSync(page, "../crates/fraglab/assets/page.html");
console.log(`${page}: ${Math.round(text.length / 1024)} KiB, copied to crates/fraglab/assets/page.html`);
