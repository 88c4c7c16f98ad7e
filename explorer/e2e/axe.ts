import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import type { AxeResults } from 'axe-core'
import type { Page } from '@playwright/test'
import { test } from './service'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** findings runs axe on the page as it is. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(source)
  const results = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: () => Promise<AxeResults> } }
    return axe.run()
  })
  return results.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(' ')).join(', ')}`)
}

/**
 * everywhere makes tests at both widths of the page, in light and in dark. A short run has
 * each width and each colour scheme once.
 */
export function everywhere(tests: (width: number) => void): void {
  const short = process.env.ATLAS_TEST_SHORT === '1'
  for (const [width, height, schemes] of [
    [1440, 900, short ? ['light'] : ['light', 'dark']],
    [390, 844, short ? ['dark'] : ['light', 'dark']],
  ] as const) {
    for (const colorScheme of schemes as readonly ('light' | 'dark')[]) {
      test.describe(`${width} px, ${colorScheme}`, () => {
        test.use({ viewport: { width, height }, colorScheme })
        tests(width)
      })
    }
  }
}
