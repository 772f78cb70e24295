// One page, one file: script and style go into index.html, with a policy that lets nothing else in or out.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const NOTICE = `fraglab, MIT OR Apache-2.0. Plots: uPlot, with this notice:\n\n${readFileSync("node_modules/uplot/LICENSE", "utf8").trim()}`;

/** `connect-src 'self'` is for \`fraglab serve\`; from disk it matches nothing. */
const policyOf = (script: string, style: string): string =>
  [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += item.code;
        else if (name.endsWith(".css")) style += String(item.source);
        else continue;
        delete bundle[name];
      }
      // Inside an element only these could end it.
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      style = style.trim();
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("Vite made no index.html");
      const policy = `<meta http-equiv="Content-Security-Policy" content="${policyOf(script, style)}" />`;
      // Functions, because a replacement text gives "$&" in a script a meaning.
      page.source = String(page.source)
        .replace(/^\s*<(script type="module"|link rel="stylesheet")[^>]*>(<\/script>)?\n/gm, "")
        .replace("<!doctype html>", () => `<!doctype html>\n<!--\n${NOTICE}\n-->`)
        .replace(/(<meta charset="utf-8" ?\/?>)/, (charset) => `${charset}\n    ${policy}`)
        .replace("</head>", () => `  <style>${style}</style>\n  </head>`)
        .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`);
    },
  };
}

export default defineConfig({
  base: "./",
  build: { target: "es2022", cssCodeSplit: false, modulePreload: false, assetsInlineLimit: Number.MAX_SAFE_INTEGER },
  plugins: [singleFile()],
});
