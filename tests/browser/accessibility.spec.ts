// The scan that the other tests trust: it sees what is wrong, where the theme alone makes it wrong too.

import { findings } from "./accessibility.ts";
import { expect, test } from "./site.ts";

test("a picture without words and text that is pale in one theme are found, with where they stand", async ({ page }) => {
  await page.setContent(`<!doctype html><html lang="en"><title>Page</title><style>p { color: #000 } @media (prefers-color-scheme: dark) { p { color: #eee } }</style>
    <main><h1>Page</h1><p>Text</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></main></html>`);
  await page.emulateMedia({ colorScheme: "light" });
  expect(await findings(page)).toEqual(["image-alt img"]);
  await page.emulateMedia({ colorScheme: "dark" });
  expect(await findings(page)).toEqual(["color-contrast p", "image-alt img"]);
});
