import { enter, expect, service, test } from './service'
import type { CDPSession, Page } from '@playwright/test'

// Figures of the README: `scripts/explorer measure`. The rows are those of the service with other
// ids, served by a route in the browser, because no workspace has credits for 100,000.

test.setTimeout(900_000)

/** Rows of a served page. The Explorer requests 25; more make the test faster. */
const pageSize = 250

async function serveRows(page: Page) {
  const { base_url, workspaces } = service()
  const headers = { Authorization: `Bearer ${workspaces[0]?.api_key}`, 'Content-Type': 'application/json' }
  const response = await fetch(`${base_url}/data/projects/search`, { method: 'POST', headers, body: '{"limit":100}' })
  const { data } = (await response.json()) as { data: { id: string }[] }
  await page.route('**/data/projects/search*', async (route) => {
    const { search_after } = route.request().postDataJSON() as { search_after?: string }
    const from = Number(search_after ?? 0)
    const rows = Array.from({ length: pageSize }, (_, i) => ({
      ...data[(from + i) % data.length],
      id: `00000000-0000-4000-8000-${String(from + i).padStart(12, '0')}`,
    }))
    await route.fulfill({ json: { data: rows, metadata: { search_after: String(from + pageSize) } } })
  })
}

/** scrollTo scrolls to the end until so many rows are loaded. */
async function scrollTo(page: Page, rows: number) {
  await page.evaluate(async (count) => {
    const grid = document.querySelector('.grid') as HTMLElement
    const body = grid.querySelector('.grid-body') as HTMLElement
    for (let i = 0; body.offsetHeight / 36 < count; i++) {
      // Each time to another position, so that the browser fires the event.
      grid.scrollTop = grid.scrollHeight - grid.clientHeight - (i % 2)
      await new Promise(requestAnimationFrame)
    }
  }, rows)
}

/** heap returns MB: of objects, and of bytes beside them. */
async function heap(cdp: CDPSession): Promise<[number, number]> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize, backingStorageSize } = (await cdp.send('Runtime.getHeapUsage')) as {
    usedSize: number
    backingStorageSize: number
  }
  return [usedSize, backingStorageSize].map((n) => Math.round(n / 1e5) / 10) as [number, number]
}

/** frames returns the milliseconds between frames while one scrolls. */
const frames = (page: Page) =>
  page.evaluate(async () => {
    const grid = document.querySelector('.grid') as HTMLElement
    grid.scrollTop = 0
    const between: number[] = []
    let before = await new Promise<number>(requestAnimationFrame)
    for (let i = 0; i < 600; i++) {
      grid.scrollTop += 300
      const now = await new Promise<number>(requestAnimationFrame)
      between.push(now - before)
      before = now
    }
    return between.sort((a, b) => a - b)
  })

test('heap, frames and interactions', async ({ page }) => {
  const cdp = await page.context().newCDPSession(page)
  await enter(page, '/projects')
  await serveRows(page)
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const figures: Record<string, unknown> = {}
  const report = (name: string, figure: unknown) => {
    figures[name] = figure
    console.log(name, figure)
  }
  report('heap of the first page', await heap(cdp))

  await scrollTo(page, 10_000)
  report('heap at 10,000', await heap(cdp))
  const between = await frames(page)
  const at = (share: number) => Math.round(10 * (between[Math.floor(share * (between.length - 1))] ?? 0)) / 10
  report('ms between frames: median, 95 %, worst', [at(0.5), at(0.95), at(1)])

  await page.evaluate(() => {
    const durations: number[] = []
    Object.assign(window, { durations })
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) if ('interactionId' in e && e.interactionId) durations.push(e.duration)
    }).observe({ type: 'event', durationThreshold: 16 } as PerformanceObserverInit)
  })
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).click()
  await page.getByRole('row').nth(4).getByRole('checkbox').click()
  await page
    .getByRole('row')
    .nth(6)
    .click({ position: { x: 500, y: 10 } })
  for (const key of ['j', 'j', 'x', 'End', 'Home']) await page.keyboard.press(key)
  await page.getByRole('button', { name: 'Choose columns' }).click()
  await page.getByLabel('Other fields').getByLabel('Address').click()
  await page.getByRole('button', { name: 'Close the record' }).click()
  await page.evaluate(() => new Promise((done) => setTimeout(done, 500)))
  const durations = await page.evaluate(() => (window as unknown as { durations: number[] }).durations)
  report('ms to the next paint, worst of 10', Math.max(0, ...durations))

  await scrollTo(page, 100_000)
  report('heap at 100,000', await heap(cdp))
  const far = await frames(page)
  report('ms between frames at 100,000: median', far[300])

  expect(Math.max(0, ...durations)).toBeLessThan(200)
  const [[before], [after]] = [figures['heap of the first page'], figures['heap at 100,000']] as [number[], number[]]
  expect((after ?? 0) - (before ?? 0)).toBeLessThan(60)
})
