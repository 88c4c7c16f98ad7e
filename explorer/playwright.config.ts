import { defineConfig, devices } from '@playwright/test'
import { baseURL } from './e2e/service'

// The system's Chromium; nothing is downloaded.
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  workers: 1,
  timeout: 60_000,
  // For machines that are busy. A test that passes only the second time is listed as flaky.
  expect: { timeout: 15_000 },
  retries: 1,
  reporter: [['list']],
  use: {
    ...devices['Desktop Chrome'],
    baseURL: baseURL(),
    locale: 'en-US',
    viewport: { width: 1440, height: 900 },
    // A browser that runs as root has no sandbox.
    launchOptions: { executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] },
  },
  projects: [
    { name: 'tests', testIgnore: '**/screenshots.ts' },
    { name: 'measure', testMatch: ['**/table-speed.ts', '**/stories.ts'] },
    { name: 'screenshots', testMatch: '**/screenshots.ts', use: { deviceScaleFactor: 2 } },
  ],
})
