import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { expect, link, test, userWith } from './service'
import { admin, call, unique } from './workspace'

interface Board {
  id: string
  name: string
}
const save = async (board: object, user = admin) =>
  (await call<{ board: Board }>('POST', '/workspace/boards/upsert', board, user)).board

/** open shows the audit log to somebody, by default the owner. */
async function open(page: Page, email?: string): Promise<void> {
  await page.goto(link(email))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/audit')
  await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible()
}

const events = (page: Page) => page.getByRole('list', { name: 'Events, the newest first' }).getByRole('listitem')

test('the audit log is filtered, paged and downloaded', async ({ page }) => {
  const hostile = `=HYPERLINK("http://x")<img src=x onerror=alert(1)>\u202e ${unique('B')}`
  const board = await save({ name: hostile, tiles: [] })
  // More than a page of them.
  for (let i = 0; i < 51; i++) await save({ id: board.id, name: `${board.name} ${i % 2}` })
  await call('DELETE', `/workspace/boards/${board.id}`, undefined, admin)
  let dialogs = 0
  page.on('dialog', (d) => {
    dialogs++
    void d.dismiss()
  })
  await open(page)
  const auditResponse = () => page.waitForResponse((r) => r.url().includes('/workspace/audit?'))
  await Promise.all([auditResponse(), page.getByLabel('What changed').selectOption({ label: 'Boards' })])
  await expect(events(page).first()).toContainText('Board deleted')
  await expect(events(page).nth(1)).toContainText('Board changed')
  await expect(events(page).nth(1)).toContainText('changed: name')
  await expect(events(page)).toHaveCount(50)
  await page.getByRole('button', { name: 'Show earlier ones' }).click()
  await expect(events(page).filter({ hasText: 'Board created' }).first()).toBeVisible()
  expect(await events(page).count()).toBeGreaterThan(52)

  // By whom, and when.
  const others = page.getByLabel('Who').locator('option')
  const name = await others
    .filter({ hasText: /^admin/i })
    .first()
    .textContent()
  await Promise.all([auditResponse(), page.getByLabel('Who').selectOption({ label: name ?? '' })])
  await expect(events(page).first()).toContainText(name ?? '')
  await Promise.all([auditResponse(), page.getByLabel('What changed').selectOption({ label: 'API keys' })])
  await expect(page.getByText('Nothing like that happened.').or(events(page).first())).toBeVisible()
  await Promise.all([auditResponse(), page.getByLabel('What changed').selectOption({ label: 'Boards' })])
  await page.getByLabel('Before').fill('2001-01-01')
  await expect(page.getByText('Nothing like that happened.')).toBeVisible()
  await page.getByLabel('Before').fill('')
  await expect(events(page).first()).toBeVisible()

  const [csv] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const lines = readFileSync(await csv.path(), 'utf8').split('\r\n')
  expect(csv.suggestedFilename()).toBe('atlas-audit-log.csv')
  expect(lines[0]).toMatch(/^at,action,principal,/)
  expect(lines[1]).toContain('board.deleted')
  expect(lines.filter((l) => l.includes(board.id))).toHaveLength(53)
  // No cell is a formula.
  expect(lines.filter((l) => /(^|,)"?[=+@-]/.test(l))).toEqual([])
  const [json] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download JSON' }).click(),
  ])
  const all = JSON.parse(readFileSync(await json.path(), 'utf8')) as { action: string; object: { id: string } }[]
  expect(all.filter((e) => e.object.id === board.id).map((e) => e.action)).toEqual([
    'board.deleted',
    ...Array.from({ length: 51 }, () => 'board.changed'),
    'board.created',
  ])
  expect(dialogs).toBe(0)
})

test('members see no audit events, and a failed request can be retried', async ({ page }) => {
  await open(page, userWith('member'))
  await expect(page.getByText('Owners and admins see it.')).toBeVisible()
  await expect(page.getByRole('search', { name: 'Search the audit log' })).toHaveCount(0)
  await page.route('**/workspace/audit?*', (route) =>
    route.fulfill({ status: 500, json: { error: { code: 'internal', message: 'the log is away' } } }),
  )
  await open(page)
  await expect(page.getByRole('heading', { name: 'Atlas has failed' })).toBeVisible()
  await page.unroute('**/workspace/audit?*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(events(page).first()).toBeVisible()
})

everywhere((width) => {
  test('the audit log has no findings of axe', async ({ page, colorScheme }, info) => {
    await open(page)
    await expect(events(page).first()).toBeVisible()
    expect(await findings(page)).toEqual([])
    // The page does not scroll sideways.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.screenshot({ path: info.outputPath(`audit-${width}.png`) })
    if (process.env.ATLAS_PICTURES)
      await page.screenshot({ path: `${process.env.ATLAS_PICTURES}/audit-${width}-${colorScheme}.png` })
    await page.getByLabel('Before').fill('2001-01-01')
    await expect(page.getByText('Nothing like that happened.')).toBeVisible()
    expect(await findings(page)).toEqual([])
  })
})
