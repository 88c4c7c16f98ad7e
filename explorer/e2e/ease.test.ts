import { readFileSync } from 'node:fs'
import { findings } from './axe'
import { counted, enter, expect, test, used } from './service'
import { call, remove, unique } from './workspace'

const flagship = '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc'

test('from firms to their people, for free', async ({ page }) => {
  await enter(page, '/accounts?account_type=developer&sort=projects_count:desc')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  for (const n of [1, 2]) await page.getByRole('row').nth(n).getByRole('checkbox').click()
  const names = await page.getByRole('row', { selected: true }).getByRole('link').allTextContents()
  const before = await used()
  await page.getByRole('button', { name: 'People at these firms' }).click()
  await expect(page).toHaveURL(/\/contacts\?account_id=[0-9a-f-]{36}&account_id=[0-9a-f-]{36}$/)
  await counted(page)
  for (const name of names) await expect(page.locator('.sentence')).toContainText(name)
  expect(await used()).toBe(before)
})

test('a search that a View cannot store is saved as a list, at its price', async ({ page }) => {
  await enter(page, '/projects?stage=under_construction&primary_use=multifamily&permitted_at=2026-01-01..')
  const count = Number((await page.getByRole('heading', { level: 1 }).textContent())?.split(' ')[0])
  const before = await used()
  await page.getByRole('button', { name: 'Save as View' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('Permit issued is from Jan 1, 2026 on – Views have no filter on this')
  expect(await findings(page)).toEqual([])
  const name = unique('Builders')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: `Make a list of ${count} · ${count} credits` }).click()
  await expect(page).toHaveURL(/\/views\//)
  await expect(page.getByRole('heading', { level: 1 })).toContainText(`${count} projects in this View`)
  expect(await used()).toBe(before + count)
  const { views } = await call<{ views: { id: string; name: string }[] }>('GET', '/workspace/views?limit=100')
  for (const view of views) if (view.name === name) await remove(view)
})

test('a file for people has the columns and labels of the table', async ({ page }) => {
  await enter(page, flagship)
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const rows = await page.getByRole('grid').getByRole('rowheader').allTextContents()
  await page.getByRole('link', { name: /^Export/ }).click()
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: /^Export \d+ rows · 0 credits/ }).click()
  const [head = '', first = ''] = readFileSync(await (await download).path(), 'utf8').split('\n')
  expect(head).toMatch(/^Project,Stage,Use,Cost,Firms,Homes,Permit issued,Latest signal,/)
  expect(first).toContain(rows[0] ?? '-')
  expect(first).toContain(',Under construction,Multifamily,')
  expect(first).not.toContain('T00:00:00')
})

test('near a city, without degrees', async ({ page }) => {
  await enter(page)
  const before = await used()
  await page.keyboard.press('f')
  const builder = page.getByRole('dialog')
  await builder.getByRole('combobox', { name: 'Fields' }).fill('location')
  await builder
    .getByRole('option', { name: /^Location/ })
    .first()
    .click()
  await builder.getByRole('combobox', { name: 'City or address' }).fill('calg')
  await builder.getByRole('option', { name: /^Calgary/ }).click()
  await expect(page).toHaveURL(/\/projects\?location=5[01]\.\d+,-11[34]\.\d+,5km$/)
  await counted(page)
  expect(await findings(page)).toEqual([])
  expect(await used()).toBe(before)
})

test('missing counts are reported, and are retried', async ({ page }) => {
  await enter(page)
  const heading = page.getByRole('heading', { level: 1 })
  const all = await heading.textContent()
  await page.route('**/data/projects/facets*', (route) => route.abort())
  // Without counts the facet has no options: the box is gone before one could see that it is checked.
  await page.getByRole('region', { name: 'Stage' }).getByRole('checkbox', { name: 'Permitted' }).click()
  await expect(page).toHaveURL(/stage=permitted/)
  await expect(page.getByRole('region', { name: 'Filters' }).or(page.getByLabel('Filters'))).toBeVisible()
  await expect(heading).not.toHaveText(all ?? '')
  await expect(heading).toHaveText('Projects')
  await page.unroute('**/data/projects/facets*')
  await expect(heading).toHaveText(/^\d+ projects/, { timeout: 15_000 })
})

test('numbers of the previous search are pale while the new ones load', async ({ page }) => {
  await enter(page)
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  await page.route('**/data/projects/facets*', async (route) => {
    await released
    await route.continue()
  })
  const [bar, count] = [page.locator('.overview .track').first(), page.locator('.rail .count').first()]
  await page.getByRole('region', { name: 'Stage' }).getByRole('checkbox', { name: 'Permitted' }).check()
  for (const old of [bar, count]) await expect(old).toHaveCSS('opacity', '0.35')
  release()
  await counted(page)
  for (const now of [bar, count]) await expect(now).toHaveCSS('opacity', '1')
})

for (const [width, height] of [
  [390, 500],
  [1440, 300],
] as const)
  test(`nothing scrolls without a key before the first counts, ${width} px`, async ({ page }) => {
    await enter(page)
    await page.setViewportSize({ width, height })
    let release = () => {}
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/data/projects/facets*', async (route) => {
      await released
      await route.continue()
    })
    await page.goto('/projects?stage=permitted')
    await expect(page.getByRole('button', { name: 'Counting…' })).toBeVisible()
    expect(await findings(page)).toEqual([])
    release()
    await counted(page)
    expect(await findings(page)).toEqual([])
  })

test('two keys go to the results', async ({ page }) => {
  await enter(page, flagship)
  await page.keyboard.press('Tab')
  await expect(page.getByRole('button', { name: 'Skip to the results' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('main')).toBeFocused()
})

test('a filter counts the values that are not listed, and shows them for free', async ({ page }) => {
  await enter(page)
  const before = await used()
  const use = page.getByRole('region', { name: 'Use', exact: true }).first()
  const choices = use.getByRole('checkbox')
  await expect(choices).toHaveCount(8)
  const more = use.getByRole('button', { name: /^Show \d+ other values?$/ })
  const others = Number(/\d+/.exec((await more.textContent()) ?? '')?.[0])
  await more.click()
  await expect(choices).toHaveCount(8 + others)
  // One of them stays after they are hidden.
  const last = choices.nth(7 + others)
  const name = (await last.evaluate((e: HTMLInputElement) => e.labels?.[0]?.querySelector('.name')?.textContent)) ?? ''
  await last.check()
  await use.getByRole('button', { name: 'Show fewer' }).click()
  await expect(use.getByRole('checkbox', { name })).toBeChecked()
  await expect(choices).toHaveCount(9)
  await expect(use.getByRole('button', { name: `Show ${others - 1} other value` })).toBeVisible()
  expect(await used()).toBe(before)
})
