import base from "/tmp/wt/webreport/tests/browser/playwright.config.ts";
export default { ...base, testDir: "/tmp/wt/webreport/tests/browser", outputDir: "/tmp/wr/results", expect: { timeout: 6000 }, timeout: 60000, reporter: [["line"]] };
