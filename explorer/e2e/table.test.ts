import { everywhere, findings } from './axe'
import { counted, enter, expect, test, used } from './service'
import type { Page } from '@playwright/test'
import { call, create, firms, remove, unique } from './workspace'

const search = '/projects?stage=permitted&sort=cost:desc'

/** open signs in and loads the first rows of a search. */
async function open(page: Page, address = search) {
  await enter(page, address)
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
}

const heads = async (page: Page) =>
  (await page.getByRole('columnheader').allTextContents()).filter(Boolean).map((t) => t.trim())

const clipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText())
const usual = ['Project', 'Stage', 'Use', 'Cost', 'Firms', 'Homes', 'Permit issued', 'Latest signal']

test('columns are chosen and ordered, and stored in the address and this browser', async ({ page }) => {
  await open(page)
  const before = await used()
  expect(await heads(page)).toEqual(usual)
  await page.getByRole('button', { name: 'Choose columns' }).click()
  const box = (name: string) => page.getByLabel('Columns of the table').getByRole('checkbox', { name })
  await page.getByLabel('Find a field').fill('addr')
  await page.getByLabel('Other fields').getByLabel('Address').click()
  await expect(box('Address')).toBeFocused()
  await page.getByLabel('Find a field').fill('')
  await box('Homes').click()
  await box('Use').click()
  await box('Firms').click()
  await page.getByLabel('Columns of the table').getByText('Latest signal').hover()
  const up = page.getByRole('button', { name: 'Move Latest signal up' })
  await up.click()
  // The focus stays on the button of the column that has moved.
  await expect(up).toBeFocused()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Escape')
  const chosen = ['Project', 'Stage', 'Latest signal', 'Cost', 'Permit issued', 'Address']
  await expect.poll(() => heads(page)).toEqual(chosen)
  await expect(page).toHaveURL(`${search}&cols=name,stage,last_signal_at,cost,permitted_at,address`)
  await expect(page.getByRole('row').nth(1).locator('[data-key=address]')).toHaveText(/\d/)

  // The same columns in the next search of this browser.
  await page.getByRole('link', { name: /^Firms \d/ }).click()
  await expect(page).toHaveURL('/accounts')
  await page.getByRole('link', { name: /^Projects \d/ }).click()
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page).toHaveURL(/^[^?]*\/projects\?cols=name,stage,last_signal_at,cost,permitted_at,address$/)
  await page.getByRole('button', { name: 'Choose columns' }).click()
  await page.getByRole('button', { name: 'Use the usual ones' }).click()
  await expect(page).toHaveURL('/projects')
  expect(await heads(page)).toEqual(usual)
  expect(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith('columns')))).toEqual([])
  // Columns cost nothing: only the rows of the second search did.
  expect(await used()).toBe(before + 25)
})

test('columns are moved and widened with the mouse and with keys', async ({ page }) => {
  await open(page)
  const head = (name: string) => page.getByRole('columnheader', { name })
  await head('Cost').dragTo(head('Stage'))
  await expect(page).toHaveURL(/cols=name,cost,stage,primary_use,/)
  const width = async (name: string) => (await head(name).boundingBox())?.width ?? 0
  const grip = await head('Stage').locator('.grip').boundingBox()
  await page.mouse.move((grip?.x ?? 0) + 5, (grip?.y ?? 0) + 5)
  await page.mouse.down()
  await page.mouse.move((grip?.x ?? 0) + 65, (grip?.y ?? 0) + 5, { steps: 4 })
  expect(await width('Stage')).toBe(216)
  await page.mouse.up()
  await expect(page).toHaveURL(/cols=name,cost,stage:216,primary_use,/)
  expect((await page.getByRole('row').nth(1).locator('[data-key=stage]').boundingBox())?.width).toBe(216)

  // From the first row up to the names of the columns.
  await page.keyboard.press('j')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowRight')
  await expect(head('Cost').getByRole('button')).toBeFocused()
  await page.keyboard.press('Shift+ArrowRight')
  await expect(page).toHaveURL(/cols=name,stage:216,cost,primary_use,/)
  await expect(head('Cost').getByRole('button')).toBeFocused()
  await page.keyboard.press('+')
  await expect(page).toHaveURL(/cols=name,stage:216,cost:128,primary_use,/)
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('0')
  await expect(page).toHaveURL(/cols=name,stage,cost:128,primary_use,/)
  await page.keyboard.press('ArrowDown')
  await expect(page.getByRole('row').nth(1)).toBeFocused()

  // A link shows the same to whoever opens it.
  const address = page.url()
  await page.goto(address)
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect.poll(() => heads(page)).toEqual(['Project', 'Stage', 'Cost', 'Use', ...usual.slice(4)])
  expect(await width('Cost')).toBe(128)
})

test('rows are sorted by any sort of the service, and stay visible until the new ones load', async ({ page }) => {
  await open(page, '/projects?stage=permitted')
  await expect(page.getByRole('columnheader', { name: 'Latest signal' })).toHaveAttribute('aria-sort', 'descending')
  await page.getByRole('combobox', { name: 'Sorted by' }).selectOption('Floor area (sq ft)')
  await expect(page).toHaveURL('/projects?stage=permitted&sort=sqft:desc')
  const previousRows = page.getByRole('region', { name: 'Rows of the search before' })
  await expect(previousRows).toContainText('These 25 rows are in the order of before.')
  await expect(page.getByRole('combobox', { name: 'Sort by', exact: true })).toHaveValue('sqft')
  await expect(page.getByRole('row')).not.toHaveCount(0)
  await previousRows
    .getByRole('button', { name: 'Show 25 rows by Floor area (sq ft), highest first · 25 credits' })
    .click()
  await expect(previousRows).toBeHidden()
  await page.getByRole('button', { name: /^Highest first/ }).click()
  await expect(page).toHaveURL('/projects?stage=permitted&sort=sqft:asc')
  await page.getByRole('button', { name: /^Show 25 rows by/ }).click()
  await expect(previousRows).toBeHidden()
  await page.getByRole('combobox', { name: 'Sorted by' }).selectOption('Latest signal (usual)')
  await expect(page).toHaveURL('/projects?stage=permitted')
  await expect(previousRows).toBeHidden()
})

test('a filter leaves the rows and the selection that match, until the new rows load', async ({ page }) => {
  await open(page, '/projects?stage=permitted')
  const before = await used()
  for (const n of [1, 2, 3, 4, 5]) await page.getByRole('row').nth(n).getByRole('checkbox').click()
  const selected = page.getByText(/^\d+ selected$/)
  await expect(selected).toHaveText('5 selected')
  // The use of the first row leaves some of the rows, and not all.
  const use = (await page.getByRole('row').nth(1).getByRole('gridcell').nth(2).textContent()) || '?'
  await page
    .getByRole('region', { name: 'Use' })
    .getByRole('checkbox', { name: new RegExp(`^${use}`) })
    .check()
  const bar = page.getByRole('region', { name: 'Rows of the search before' })
  await expect(bar).toContainText(/^\d+ of the 25 rows that were loaded match\./)
  const rows = Number((await bar.getByRole('status').textContent())?.split(' ')[0])
  expect(rows).toBeLessThan(25)
  await expect(page.getByText(`${rows} of 25 loaded before`)).toBeVisible()
  const uses = await page.getByRole('grid').getByRole('row', { selected: true }).allTextContents()
  expect(uses.every((text) => text.includes(use))).toBe(true)
  await expect(selected).toHaveText(`${uses.length} selected`)
  expect(await used()).toBe(before)
})

test('completely loaded rows are sorted and filtered by the client, for free', async ({ page }) => {
  await enter(page, '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  const all = await page.getByText(/^\d+ of \d+ loaded$/).textContent()
  expect(all).toMatch(/^(\d+) of \1 loaded$/)
  const before = await used()
  const names = () => page.getByRole('grid').getByRole('rowheader').allTextContents()
  const head = (name: string) => page.getByRole('columnheader', { name })
  const namesBefore = await names()
  await head('Cost').getByRole('button').click()
  await expect(head('Cost')).toHaveAttribute('aria-sort', 'ascending')
  await expect(head('Cost').getByRole('button')).toBeFocused()
  await expect(page.getByText(/loaded, arranged here for nothing$/)).toBeVisible()
  expect(await names()).not.toEqual(namesBefore)
  expect(new Set(await names())).toEqual(new Set(namesBefore))
  await page.getByRole('region', { name: 'Disposition' }).getByRole('checkbox', { name: 'Active' }).check()
  await expect(page.getByRole('main')).toHaveAttribute('aria-busy', 'false')
  await counted(page)
  const active = Number((await page.getByRole('heading', { level: 1 }).textContent())?.replace(/\D/g, ''))
  await expect(page.getByText(`${active} of ${active} loaded`)).toBeVisible()
  expect(await used()).toBe(before)

  // Values that only the service has are requested, and loaded rows stay until then.
  await page.getByRole('combobox', { name: /^Search/ }).fill('townhomes')
  const bar = page.getByRole('region', { name: 'Rows of the search before' })
  await expect(bar).toContainText('of the search before')
  expect(await findings(page)).toEqual([])
  await bar.getByRole('button', { name: 'Put these rows away' }).click()
  await expect(page.getByRole('grid')).toBeHidden()
  expect(await used()).toBe(before)
})

test('the longest stage fits its column', async ({ page }) => {
  await open(page, '/projects?stage=under_construction')
  const badge = page.getByRole('row').nth(1).locator('.badge')
  await expect(badge).toHaveAttribute('title', 'Under construction')
  expect(await badge.evaluate((e) => [e, e.parentElement].map((b) => b && b.scrollWidth - b.clientWidth))).toEqual([
    0, 0,
  ])
})

test('rows are selected by mouse and keys, and copied for free', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await open(page, `${search}&cols=name,cost,city`)
  const before = await used()
  const bar = page.getByRole('region', { name: 'Selected rows' })
  await expect(bar).toBeHidden()
  const box = (n: number) => page.getByRole('row').nth(n).getByRole('checkbox')
  await box(2).click()
  await box(5).click({ modifiers: ['Shift'] })
  await expect(bar).toContainText('4 selected')
  await expect(page.getByRole('row', { selected: true })).toHaveCount(4)
  await expect(page.getByRole('columnheader').getByRole('checkbox')).toHaveJSProperty('indeterminate', true)
  await bar.getByRole('button', { name: 'Copy CSV' }).click()
  const csv = (await clipboard(page)).trim().split('\n')
  expect(csv[0]).toBe('id,name,cost,city')
  expect(csv).toHaveLength(5)
  await bar.getByRole('button', { name: 'Copy JSON' }).click()
  const rows = JSON.parse(await clipboard(page)) as { id: string; name: string; latitude: unknown }[]
  expect(rows.map((r) => r.name)).toEqual(
    await page.getByRole('row', { selected: true }).getByRole('link').allTextContents(),
  )
  expect(rows[0]).toHaveProperty('latitude')
  await bar.getByRole('button', { name: 'Copy IDs' }).click()
  expect((await clipboard(page)).split('\n')).toEqual(rows.map((r) => r.id))
  await bar.getByRole('button', { name: 'Select nothing' }).click()
  await expect(bar).toBeHidden()

  await page.keyboard.press('k')
  await page.keyboard.press('Home')
  await page.keyboard.press('x')
  await expect(bar).toContainText('1 selected')
  await page.keyboard.press('Shift+ArrowDown')
  await page.keyboard.press('Shift+ArrowDown')
  await expect(bar).toContainText('3 selected')
  await page.keyboard.press('Shift+ArrowUp')
  await expect(bar).toContainText('2 selected')
  await page.keyboard.press('x')
  await expect(bar).toContainText('1 selected')
  await page.keyboard.press('Escape')
  await expect(bar).toBeHidden()
  await page.keyboard.press('Control+a')
  await expect(bar).toContainText('25 selected')
  expect(await used()).toBe(before)
})

test('all matches are selected for free, and loaded for a price that is shown first', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await open(page, '/projects?stage=under_construction&sort=cost:desc')
  const total = Number((await page.getByRole('heading', { level: 1 }).textContent())?.replace(/\D/g, ''))
  const before = await used()
  const bar = page.getByRole('region', { name: 'Selected rows' })
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).check()
  await expect(bar).toContainText('25 selected')
  await bar.getByRole('button', { name: `Select all ${total} that match` }).click()
  await expect(bar).toContainText(`${total} selected · 25 loaded`)
  await page.getByRole('row').nth(3).getByRole('checkbox').click()
  await expect(bar).toContainText(`${total - 1} selected · 24 loaded`)
  expect(await used()).toBe(before)
  await bar.getByRole('button', { name: `Load the other ${total - 25} · ${total - 25} credits` }).click()
  await expect(bar.getByRole('button', { name: /^Load/ })).toHaveCount(0)
  await expect(page.getByText(`${total} of ${total} loaded`)).toBeVisible()
  await bar.getByRole('button', { name: 'Copy IDs' }).click()
  expect(new Set((await clipboard(page)).split('\n')).size).toBe(total - 1)
  expect(await used()).toBe(before + total - 25)
})

test('a cell and a row are copied', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await open(page)
  await expect(page.getByRole('row').nth(1)).toBeFocused()
  await page.keyboard.press('j')
  const row = page.getByRole('row').nth(2)
  await expect(row).toBeFocused()
  await page.keyboard.press('Control+c')
  await expect(page.getByText('The row is copied as JSON')).toBeVisible()
  const record = JSON.parse(await clipboard(page)) as { name: string; cost: number }
  expect(record.name).toBe(await row.getByRole('link').textContent())
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight')
  await expect(row.locator('[data-key=cost]')).toBeFocused()
  await page.keyboard.press('Control+c')
  await expect(page.getByText('Cost copied')).toBeVisible()
  expect(await clipboard(page)).toBe(String(record.cost))
  // Up and down stay in the column; left of the first cell is the row.
  await page.keyboard.press('j')
  await expect(page.getByRole('row').nth(3).locator('[data-key=cost]')).toBeFocused()
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft')
  await expect(page.getByRole('row').nth(3)).toBeFocused()
})

test('keys edit the clicked cell', async ({ page }) => {
  const [first, second] = await firms(2)
  const list = await create(unique('Clicked'))
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: [{ record_id: first?.id }, { record_id: second?.id }],
  })
  await open(page, `/views/${list.id}?cols=name,city,workspace_status,tags`)
  const cell = (name = '', key: string) => page.getByRole('row').filter({ hasText: name }).locator(`[data-key=${key}]`)
  await cell(first?.name, 'workspace_status').focus()
  await cell(second?.name, 'tags').click({ position: { x: 8, y: 8 } })
  await expect(cell(second?.name, 'tags')).toBeFocused()
  await page.keyboard.press('F2')
  const input = page.getByRole('textbox', { name: `Tags of ${second?.name}` })
  await expect(input).toBeFocused()
  await input.press('Escape')
  await expect(cell(second?.name, 'tags')).toBeFocused()
  await remove(list)
})

test('the focus stays where it is, however far one scrolls', async ({ page }) => {
  await open(page)
  await page.getByRole('button', { name: /^Show 25 more/ }).click()
  await expect(page.getByText(/^50 of/)).toBeVisible()
  await page.keyboard.press('j')
  const first = page.locator('#row-0')
  await expect(first).toBeFocused()
  await page.getByRole('grid').evaluate((e) => e.scrollTo(0, 700))
  await expect(page.locator('#row-24')).toBeVisible()
  await expect(first).toBeFocused()
  await page.keyboard.press('j')
  await expect(page.locator('#row-1')).toBeFocused()
  await expect(page.locator('#row-1')).toBeInViewport()
})

test('loaded rows are not refetched after a failed page', async ({ page }) => {
  await open(page)
  const before = await used()
  let requests = 0
  await page.route('**/data/projects/search*', (route) => {
    requests++
    return route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'busy' } } })
  })
  await page.getByRole('button', { name: 'Show 25 more · 25 credits' }).click()
  await expect(page.getByRole('alert')).toContainText('The next rows did not come')
  await page.getByRole('combobox', { name: /^Search/ }).press('Enter')
  await page.getByRole('button', { name: 'Try again · 25 credits' }).click()
  await expect.poll(() => requests).toBe(2)
  await page.unroute('**/data/projects/search*')
  await page.getByRole('button', { name: 'Try again · 25 credits' }).click()
  await expect(page.getByText('50 of')).toBeVisible()
  expect(await used()).toBe(before + 25)
  expect(requests).toBe(2)
})

test('the search is copied as a program in Go', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, '/projects?q=garage&stage=permitted&cost=10000..&unknown=sqft&sort=cost:desc')
  await page.getByRole('button', { name: 'Copy the search' }).click()
  await page.getByRole('button', { name: 'Program in Go' }).click()
  await expect(page.getByLabel('copied')).toBeVisible()
  const program = await clipboard(page)
  expect(program).toContain('c.Projects.Search(')
  expect(program).toContain('"cost": client.AtLeast(10000),')
  expect(program).toContain('"sqft": client.Unknown(),')
})

test('the drawer goes to the next row, and a missing record is reported', async ({ page }) => {
  await open(page)
  await page
    .getByRole('row')
    .nth(1)
    .click({ position: { x: 600, y: 10 } })
  const drawer = page.locator('.drawer')
  await expect(drawer).toContainText('1 of 25')
  await drawer.getByRole('button', { name: 'Next row' }).click()
  await expect(drawer).toContainText('2 of 25')
  const name = await page.getByRole('row').nth(2).getByRole('link').textContent()
  await expect(drawer.getByRole('heading', { level: 2 })).toHaveText(name ?? '')
  await drawer.getByRole('button', { name: 'Previous row' }).click()
  await expect(drawer).toContainText('1 of 25')

  const before = await used()
  await page.goto(search.replace('?', '/00000000-0000-4000-8000-000000000000?'))
  await drawer.getByRole('button', { name: 'Show it · 1 credit' }).click()
  await expect(drawer.getByRole('heading', { name: 'This project is gone' })).toBeVisible()
  await expect(drawer.getByRole('button', { name: 'Next row' })).toHaveCount(0)
  expect(await findings(page)).toEqual([])
  await drawer.getByRole('button', { name: 'Back to the search' }).click()
  await expect(page).toHaveURL(search)
  expect(await used()).toBe(before)
})

everywhere((width) => {
  test('the table is accessible', async ({ page }) => {
    await open(page, `${search}&cols=name,stage,cost:140,address,account_ids,filed_at,id`)
    await page.getByRole('row').nth(2).getByRole('checkbox').click()
    await expect(page.getByRole('region', { name: 'Selected rows' })).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Choose columns' }).click()
    expect(await findings(page)).toEqual([])
    const cell = page.getByRole('row').nth(2).locator('[data-key=stage]')
    await expect(cell).toBeVisible()
    await page.getByRole('checkbox', { name: 'Stage' }).click()
    await expect(cell).toHaveCount(0)
    await page.keyboard.press('Escape')
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await counted(page)
  })
})
