// The page in Debian's Chromium. Workers share one machine with two cores and models that need them: one test at a time.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: ".",
  testMatch: "*.spec.ts",
  outputDir: "../../test-results",
  timeout: 180_000,
  expect: { timeout: 20_000 },
  workers: 1,
  retries: process.env["CI"] ? 1 : 0, // a test that needs its second try is reported as flaky
  reporter: [["list"]],
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 900 },
    trace: "off",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env["POLYGRAPH_TEST_CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    },
  },
});
