// Built documentation sites in Debian's Chromium.
import { defineConfig } from "@playwright/test";
import browser from "../browser/playwright.config.ts";

export default defineConfig({ ...browser, testDir: "." });
