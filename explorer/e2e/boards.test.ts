import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { counted, enter, expect, test, used } from './service'
import { another, call, create, firms, remove, unique } from './workspace'

interface Board {
  id: string
  name: string
  revision: number
  tiles: object[]
}

const save = async (board: object) => (await call<{ board: Board }>('POST', '/workspace/boards/upsert', board)).board
const read = async (id: string) => (await call<{ board: Board }>('GET', `/workspace/boards/${id}`)).board
const drop = ({ id }: Board) => call('DELETE', `/workspace/boards/${id}`)

const permitted = { filters: { stage: { value: ['permitted'] } } }
const chart = (title: string, request: object = permitted, rest: object = {}) => ({
  kind: 'chart',
  title,
  dataset: 'projects',
  of: 'data',
  request: { ...request, facets: [{ field: 'primary_use', limit: 20 }] },
  ...rest,
})
const pivot = (title: string) => ({
  kind: 'pivot',
  title,
  dataset: 'projects',
  of: 'data',
  request: { rows: { field: 'stage', limit: 20 }, columns: { field: 'permitted_at', interval: 'year' } },
})
const map = (title: string) => ({
  kind: 'map',
  title,
  dataset: 'projects',
  of: 'data',
  request: { ...permitted, facets: [{ geo: { precision: 12 }, exclude_own: false }] },
})
const number = (title: string, view: string) => ({
  kind: 'view',
  title,
  dataset: 'accounts',
  of: 'view',
  view_id: view,
  request: {},
})

/** tile is a tile of the visible board. */
const tile = (page: Page, title: string) => page.getByRole('region', { name: title, exact: true })
const titles = (page: Page) => page.locator('.board-tile h2')

/** add puts what is visible on a board, new if it has no id. */
async function add(page: Page, title: string, board: { name: string; id?: string }) {
  await page.getByRole('button', { name: 'Add to board' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add to board' })
  await expect(dialog.getByLabel('Board')).toBeEnabled()
  await dialog.getByLabel('Board').selectOption(board.id ?? '')
  if (!board.id) await dialog.getByLabel('Name').fill(board.name)
  await dialog.getByLabel('Title of the tile').fill(title)
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(page.getByText(`“${title}” is on “${board.name}”`)).toBeVisible()
}

test('each kind of tile links to the same records, for free', async ({ page }) => {
  const name = unique('Calgary this quarter')
  const some = (await firms(3)).map((f) => f.id)
  const list = await create(unique('Firms to call'))
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: some.map((record_id) => ({ record_id })),
  })
  await enter(page)
  await page.goto('/boards')
  const before = await used()
  await page.getByRole('button', { name: 'New board' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill(name)
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await expect(page).toHaveURL(/\/boards\/[0-9a-f-]{36}$/)
  const address = page.url()
  await expect(page.getByRole('heading', { name: 'Nothing is on this board yet' })).toBeVisible()
  const board = { name, id: address.split('/').at(-1) ?? '' }

  await page.goto('/projects?q=garage&stage=permitted&cost=1000..&look=chart&by=primary_use')
  await add(page, 'Garages by use', board)
  await page.goto('/projects?permitted_at=2015-01-01..&look=pivot&by=stage&across=permitted_at:year&of=sum:cost')
  await add(page, 'Cost by stage', board)
  await page.goto('/projects?stage=permitted&look=map')
  await add(page, 'Where', board)
  await page.goto(`/views/${list.id}`)
  await page.getByRole('button', { name: `More about ${list.name}` }).click()
  await page.getByRole('button', { name: 'Add to a board…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add to board' })
  await expect(dialog.getByLabel('Title of the tile')).toHaveValue(list.name)
  await dialog.getByLabel('Board').selectOption({ label: name })
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await expect(page.getByText(`“${list.name}” is on “${name}”`)).toBeVisible()

  await page.goto(address)
  await expect(titles(page)).toHaveText(['Garages by use', 'Cost by stage', 'Where', list.name])
  await expect(page.getByRole('img', { name: 'Garages by use' })).toBeVisible()
  await expect(page.getByRole('table', { name: 'Cost by stage' })).toBeVisible()
  await expect(page.getByRole('img', { name: /^Where: [\d,]+ projects? in \d+ places$/ })).toBeVisible()
  await expect(tile(page, list.name)).toContainText('3 firms')
  await expect(page.getByText(/^Counted at .+ · again every 5 minutes, for nothing$/)).toBeVisible()
  expect(await used()).toBe(before)

  for (const [title, search] of [
    ['Garages by use', '/projects?q=garage&stage=permitted&cost=1000..&look=chart&by=primary_use'],
    ['Cost by stage', '/projects?permitted_at=2015-01-01..&look=pivot&by=stage&across=permitted_at:year&of=sum:cost'],
    ['Where', '/projects?stage=permitted&look=map'],
    [list.name, `/views/${list.id}`],
  ] as const) {
    await expect(tile(page, title)).toContainText(title === list.name ? /3 firms/ : /[\d,]+ projects? in all/)
    const card = tile(page, title)
      .locator(title === list.name ? '.tile-number' : '.notes')
      .last()
    const [count] = /[\d,]+/.exec((await card.textContent()) ?? '') ?? []
    await page.getByRole('link', { name: title, exact: true }).click()
    // The store does not preserve the order of conditions.
    const partsOf = (address: URL) => [address.pathname, ...address.searchParams].map(String).sort()
    const expected = partsOf(new URL(search, address))
    await expect(page).toHaveURL((url) => String(partsOf(url)) === String(expected))
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(new RegExp(`^${count} `))
    await page.goBack()
    await expect(titles(page)).toHaveCount(4)
  }
  // A number of a pivot leads to its records.
  await tile(page, 'Cost by stage').getByRole('link').nth(1).click()
  await expect(page).toHaveURL(/\/projects\?.*stage=/)
  await page.goBack()

  // It is renamed, and deleted; Undo restores it.
  await page.getByRole('button', { name: `More about ${name}` }).click()
  await page.getByRole('button', { name: 'Rename…' }).click()
  const other = unique('Renamed')
  await page.getByRole('dialog').getByLabel('Name').fill(other)
  await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
  await expect(page.getByRole('heading', { level: 1, name: other })).toBeVisible()
  await page.getByRole('link', { name: 'All boards' }).click()
  await expect(page.getByRole('row').filter({ hasText: other })).toContainText('4')
  await page.getByRole('button', { name: `More about ${other}` }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await expect(page.getByRole('dialog')).toContainText('gone for everyone, with its 4 tiles')
  await page.getByRole('button', { name: 'Delete the board' }).click()
  await expect(page.getByRole('row').filter({ hasText: other })).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('row').filter({ hasText: other })).toContainText('4')
  await page.goto(address)
  await expect(page.getByRole('heading', { name: 'This board is gone' })).toBeVisible()
  await page.goto('/boards/nonsense')
  await expect(page.getByRole('heading', { name: 'This board is gone' })).toBeVisible()
  expect(await used()).toBe(before)
  await remove(list)
})

test('tiles are reordered by buttons and keys, and their removal can be undone', async ({ page }) => {
  const board = await save({ name: unique('Order'), tiles: [chart('A'), chart('B'), chart('C')] })
  await enter(page)
  await page.goto(`/boards/${board.id}`)
  await expect(titles(page)).toHaveText(['A', 'B', 'C'])
  const saved = () => page.waitForResponse('**/workspace/boards/upsert*')
  await tile(page, 'C').hover()
  await Promise.all([saved(), page.getByRole('button', { name: 'Move C up' }).click()])
  await expect(titles(page)).toHaveText(['A', 'C', 'B'])
  await page.getByRole('link', { name: 'A', exact: true }).focus()
  await Promise.all([saved(), page.keyboard.press('Alt+ArrowDown')])
  await expect(titles(page)).toHaveText(['C', 'A', 'B'])
  await expect(page.getByRole('link', { name: 'A', exact: true })).toBeFocused()
  await expect(page.getByText('A is number 2')).toBeAttached()
  // Two at once: each follows the other.
  await page.keyboard.press('Alt+ArrowDown')
  await page.keyboard.press('Alt+ArrowUp')
  await page.keyboard.press('Alt+ArrowUp')
  await expect(titles(page)).toHaveText(['A', 'C', 'B'])
  await expect.poll(async () => (await read(board.id)).revision).toBe(6)
  await page.reload()
  await expect(titles(page)).toHaveText(['A', 'C', 'B'])

  await page.getByRole('button', { name: 'More about C' }).click()
  await page.getByRole('button', { name: 'Take off the board' }).click()
  await expect(titles(page)).toHaveText(['A', 'B'])
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(titles(page)).toHaveText(['A', 'C', 'B'])
  await page.getByRole('button', { name: 'More about C' }).click()
  await page.getByRole('button', { name: 'Another title…' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('See')
  // Keys of a dialog move no tile.
  await page.keyboard.press('Alt+ArrowUp')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(titles(page)).toHaveText(['A', 'See', 'B'])
  await expect.poll(async () => (await read(board.id)).tiles).toHaveLength(3)
  await drop(board)
})

test('a concurrent change of a board is a conflict, and nothing is lost', async ({ page, browser }) => {
  const board = await save({ name: unique('Ours'), tiles: [chart('A'), chart('B'), chart('C')] })
  await enter(page)
  await page.goto(`/boards/${board.id}`)
  await expect(titles(page)).toHaveText(['A', 'B', 'C'])
  const other = await another(browser, `/boards/${board.id}`)
  await expect(titles(other)).toHaveText(['A', 'B', 'C'])
  await other.getByRole('button', { name: 'More about A' }).click()
  await other.getByRole('button', { name: 'Take off the board' }).click()
  await expect(titles(other)).toHaveText(['B', 'C'])
  await expect.poll(async () => (await read(board.id)).revision).toBe(2)

  await page.getByRole('link', { name: 'C', exact: true }).focus()
  await page.keyboard.press('Alt+ArrowUp')
  const alert = page.getByRole('alert')
  await expect(alert).toContainText('Somebody has changed this board meanwhile')
  await expect(titles(page)).toHaveText(['B', 'C'])
  expect((await read(board.id)).revision).toBe(2)
  await alert.getByRole('button', { name: 'Do it now' }).click()
  await expect(titles(page)).toHaveText(['B', 'C'].toReversed())
  await expect(alert).toHaveCount(0)
  await expect.poll(async () => (await read(board.id)).revision).toBe(3)

  // Changing a deleted tile reports that.
  await save({ id: board.id, tiles: [chart('B')] })
  await page.getByRole('button', { name: 'More about C' }).click()
  await page.getByRole('button', { name: 'Take off the board' }).click()
  await alert.getByRole('button', { name: 'Do it now' }).click()
  await expect(page.getByText('somebody has taken it off the board')).toBeVisible()
  await expect(titles(page)).toHaveText(['B'])

  // When two people add to a board concurrently, both tiles are on it.
  await page.goto('/projects?look=chart&by=stage')
  let raced = false
  await page.route('**/workspace/boards/upsert*', async (route) => {
    if (!raced) {
      raced = true
      await save({ id: board.id, tiles: [chart('B'), chart('Theirs')] })
    }
    await route.continue()
  })
  await add(page, 'Mine', { name: board.name, id: board.id })
  await page.goto(`/boards/${board.id}`)
  await expect(titles(page)).toHaveText(['B', 'Theirs', 'Mine'])
  await other.context().close()
  await drop(board)
})

test('a conflicting change stays until it is resolved, and can be undone', async ({ page }) => {
  const [x, y, z] = ['garage', 'house', 'office'].map((query, i) => chart('XYZ'[i] ?? '', { query }))
  const board = await save({ name: unique('Waits'), tiles: [x, y, z] })
  const elsewhere = (name: string) => save({ id: board.id, name: unique(name) })
  await enter(page)
  await page.goto(`/boards/${board.id}`)
  await expect(titles(page)).toHaveText(['X', 'Y', 'Z'])
  const alert = page.getByRole('alert')
  const waits = alert.getByRole('listitem')
  const remove = async (title: string) => {
    await page.getByRole('button', { name: `More about ${title}` }).click()
    await page.getByRole('button', { name: 'Take off the board' }).click()
  }
  await elsewhere('One')
  await page.getByRole('button', { name: 'More about X' }).click()
  await page.getByRole('button', { name: 'Another title…' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Ex')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(waits).toHaveCount(1)
  await elsewhere('Two')
  await remove('Z')
  await expect(waits).toHaveCount(2)
  // Concurrent changes remove none of them.
  await page.getByRole('link', { name: 'Y', exact: true }).focus()
  await page.keyboard.press('Alt+ArrowUp')
  await expect(titles(page)).toHaveText(['Y', 'X', 'Z'])
  await expect.poll(async () => (await read(board.id)).revision).toBe(4)
  await expect(waits).toHaveText([/It is called “Ex” now/, /“Z” is off the board/])
  expect(await findings(page)).toEqual([])
  await waits.first().getByRole('button', { name: 'Do it now' }).click()
  await expect(titles(page)).toHaveText(['Y', 'Ex', 'Z'])
  await expect(waits).toHaveCount(1)
  await waits.getByRole('button', { name: 'Do it now' }).click()
  await expect(alert).toHaveCount(0)
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused()
  await expect(titles(page)).toHaveText(['Y', 'Ex'])

  // An undo that conflicts with somebody else's change is offered in one place, and restores the
  // tile once.
  await expect(page.getByRole('button', { name: 'Undo' })).toBeVisible()
  await save({ id: board.id, tiles: [y, { ...x, title: 'Theirs' }] })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByText('That is not undone: somebody has changed the board meanwhile')).toBeVisible()
  await expect(alert).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(titles(page)).toHaveText(['Y', 'Theirs', 'Z'])
  await expect.poll(async () => (await read(board.id)).tiles).toHaveLength(3)

  // It is dragged by its head.
  const saved = page.waitForResponse('**/workspace/boards/upsert*')
  await tile(page, 'Z').getByRole('link').first().dragTo(tile(page, 'Y'))
  await saved
  await expect(titles(page)).toHaveText(['Z', 'Y', 'Theirs'])
  await drop(board)
})

test('each of two concurrent changes can be undone, on another screen too', async ({ page }) => {
  const board = await save({ name: unique('Slow'), tiles: [chart('A'), chart('B'), chart('C')] })
  await enter(page)
  await page.goto(`/boards/${board.id}`)
  let go = () => {}
  const held = new Promise<void>((resolve) => (go = resolve))
  await page.route('**/workspace/boards/upsert*', async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'More about A' }).click()
  await page.getByRole('button', { name: 'Take off the board' }).click()
  await expect(titles(page)).toHaveText(['B', 'C'])
  await expect(page.getByRole('link', { name: 'B', exact: true })).toBeFocused()
  await page.keyboard.press('Alt+ArrowDown')
  await expect(titles(page)).toHaveText(['C', 'B'])
  await page.getByRole('link', { name: 'All boards' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Boards' })).toBeVisible()
  go()
  await expect(page.getByText('“A” is off the board')).toBeVisible()
  await expect.poll(async () => (await read(board.id)).revision).toBe(3)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(async () => (await read(board.id)).tiles).toHaveLength(3)
  await drop(board)
})

test('a deleted board is restored without the tile of a deleted View', async ({ page }) => {
  const view = await create(unique('Doomed'))
  const board = await save({
    name: unique('Restored'),
    tiles: [number('Dead', view.id), chart('A'), number('Dead too', view.id)],
  })
  await remove(view)
  await enter(page)
  await page.goto('/boards')
  const row = page.getByRole('row').filter({ hasText: board.name })
  await expect(row).toContainText('3')
  await page.goto(`/boards/${board.id}`)
  await expect(tile(page, 'Dead too')).toContainText('This View is gone')
  await page.getByRole('button', { name: 'More about Dead too' }).click()
  const [saved] = await Promise.all([
    page.waitForResponse('**/workspace/boards/upsert*'),
    page.getByRole('button', { name: 'Take off the board' }).click(),
  ])
  expect(saved.status()).toBe(200)
  await expect(titles(page)).toHaveText(['Dead', 'A'])
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused()
  await expect(page.getByRole('button', { name: 'Undo' })).toHaveCount(0)

  // The board is recounted, and loaded with the changes of others.
  const { tiles } = await read(board.id)
  await save({ id: board.id, tiles: [...tiles, chart('B')] })
  await page.getByRole('button', { name: `More about ${board.name}` }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await expect(page.getByRole('dialog')).toContainText('with its 3 tiles')
  await save({ id: board.id, tiles: [...tiles, chart('B'), chart('C')] })
  await page.getByRole('button', { name: 'Delete the board' }).click()
  await expect(page.getByText(`“${board.name}” is deleted`)).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByText(`“${board.name}” is back without 1 tile: what it counts is gone`)).toBeVisible()
  await row.getByRole('link').click()
  await expect(titles(page)).toHaveText(['A', 'B', 'C'])
  await drop({ ...board, id: page.url().split('/').at(-1) ?? '' })
})

test('a map is drawn once its tile has a location', async ({ page }) => {
  const board = await save({ name: unique('Map'), tiles: [map('Where')] })
  await enter(page)
  let located = false
  await page.route('**/data/projects/facets?*', async (route) => {
    const body = route.request().postDataJSON() as { facets?: { geo?: object }[] }
    if (located || !body.facets?.[0]?.geo) return route.continue()
    const response = await route.fetch()
    const json = (await response.json()) as { data: { facets: { geo: object[] }[] } }
    for (const facet of json.data.facets) facet.geo = []
    return route.fulfill({ response, json })
  })
  await page.goto(`/boards/${board.id}`)
  await expect(tile(page, 'Where')).toContainText('None of them has a known location')
  located = true
  await page.getByRole('button', { name: 'Refresh' }).click()
  const drawn = page.getByRole('img', { name: /^Where: [\d,]+ projects? in \d+ places$/ })
  await expect(drawn).toBeVisible()
  await expect.poll(async () => (await drawn.boundingBox())?.width ?? 0).toBeGreaterThan(300)
  await drop(board)
})

test('counts are refreshed by a button, and every 5 minutes on a visible page', async ({ page }) => {
  const list = await create(unique('Growing'))
  const some = (await firms(3)).map((f) => ({ record_id: f.id }))
  const board = await save({ name: unique('Counts'), tiles: [number('Growing', list.id), chart('Permitted')] })
  await enter(page)
  await page.clock.install()
  await page.goto(`/boards/${board.id}`)
  await expect(tile(page, 'Growing')).toContainText('0 firms')
  const put = (n: number) => call('POST', `/workspace/views/${list.id}/records/add/batch`, { inputs: some.slice(0, n) })
  await put(1)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await expect(tile(page, 'Growing')).toContainText('1 firm')

  await put(2)
  await page.clock.fastForward('05:10')
  await expect(tile(page, 'Growing')).toContainText('2 firms')

  // A hidden page sends no requests.
  let requests = 0
  await page.route('**/facets?*', async (route) => {
    requests++
    await route.continue()
  })
  const visible = (state: string) =>
    page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
      dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }, state)
  await visible('hidden')
  await put(3)
  await page.clock.fastForward('05:10')
  await page.clock.fastForward('05:10')
  await expect(tile(page, 'Growing')).toContainText('2 firms')
  expect(requests).toBe(0)
  await visible('visible')
  await expect(tile(page, 'Growing')).toContainText('3 firms')
  await drop(board)
  await remove(list)
})

test('a failed tile explains its error, and the others have counts', async ({ page }) => {
  const view = await create(unique('Gone'))
  const refused = chart('Refused')
  const board = await save({
    name: unique('Half'),
    tiles: [
      number('Of a View', view.id),
      chart('Exact', { query: 'garage', words: 'exact' }),
      refused,
      chart('Good'),
      { ...chart('Our book'), dataset: 'accounts', of: 'book', request: { facets: [{ field: 'icp_tier' }] } },
    ],
  })
  await remove(view)
  await enter(page)
  await page.route('**/data/projects/facets?*', async (route) => {
    const body = route.request().postDataJSON() as { facets?: { field: string; limit?: number }[] }
    const ours = body.facets?.[0]?.field === 'primary_use' && !('query' in body)
    return ours && refusing
      ? route.fulfill({
          status: 400,
          json: {
            success: false,
            error: { name: 'ZodError', issues: [{ path: ['facets'], message: 'is not what it was' }] },
          },
        })
      : route.continue()
  })
  let refusing = true
  await page.goto(`/boards/${board.id}`)
  await expect(tile(page, 'Of a View')).toContainText('This View is gone')
  await expect(tile(page, 'Refused')).toContainText('This search is not valid')
  await expect(tile(page, 'Refused')).toContainText('is not what it was')
  await expect(tile(page, 'Exact')).toContainText('It leads to no search. It finds words exactly as typed')
  await expect(tile(page, 'Exact').getByRole('img')).toBeVisible()
  await expect(tile(page, 'Exact').getByRole('link')).toHaveCount(0)
  await expect(tile(page, 'Our book')).toContainText(/firms? in all|Nothing matches/)
  refusing = false
  await page.getByRole('button', { name: 'Refresh' }).click()
  await expect(tile(page, 'Good').getByRole('img')).toBeVisible()
  await drop(board)
})

test('hostile names do no harm', async ({ page }) => {
  const names = [
    '<img src=x onerror=alert(1)>',
    '"; </script><script>alert(1)</script>',
    '\u202eevil\u202c ',
    'A'.repeat(100),
    '日本語のとても長い名前'.repeat(9),
    '__proto__',
  ].map((n) => n.slice(0, 100).trim())
  let dialogs = 0
  page.on('dialog', (d) => {
    dialogs++
    void d.dismiss()
  })
  const name = unique(names[1] ?? '')
  const board = await save({ name, tiles: names.map((n) => chart(n)) })
  await enter(page)
  await page.goto('/boards')
  await page.getByRole('link', { name, exact: true }).click()
  await expect(titles(page)).toHaveCount(names.length)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(name)
  await page.waitForLoadState('networkidle')
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(dialogs).toBe(0)
  // The palette has it by its name.
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('script alert')
  await expect(page.getByRole('option', { name: `${name} Boards` })).toBeVisible()
  await page.keyboard.press('Escape')
  await drop(board)
})

test('a full board refuses tiles, and every board refuses e-mail addresses', async ({ page }) => {
  const board = await save({ name: unique('Full'), tiles: Array.from({ length: 12 }, (_, i) => chart(`T${i}`)) })
  await enter(page, '/projects?look=chart&by=stage')
  await page.getByRole('button', { name: 'Add to board' }).click()
  await expect(page.getByRole('option', { name: `${board.name} (full: 12 tiles)` })).toBeDisabled()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.goto('/contacts?known=email&look=chart&by=role')
  await page.getByRole('button', { name: 'Add to board' }).click()
  await expect(page.getByRole('dialog')).toContainText('E-mail addresses'.toLowerCase())
  await drop(board)
})

everywhere((width) => {
  test('boards have no findings of axe, and can be printed', async ({ page, colorScheme }, info) => {
    const view = await create(unique('Firms'))
    const board = await save({
      name: unique('A board'),
      tiles: [
        {
          ...chart('Cost by month'),
          request: {
            ...permitted,
            facets: [
              { field: 'permitted_at', interval: 'month', exclude_own: false, measure: { field: 'cost', of: 'sum' } },
            ],
          },
        },
        number('Firms to call', view.id),
        map('Where they are'),
        pivot('Stage by year'),
        chart('By use'),
        number('Of a View that is gone', (await create(unique('Away'))).id),
      ],
    })
    await remove({ id: (board.tiles[5] as { view_id: string }).view_id, name: '' })
    await enter(page)
    const shot = async (name: string) => {
      await page.waitForLoadState('networkidle')
      if (process.env.ATLAS_PICTURES)
        await page.screenshot({
          path: `${process.env.ATLAS_PICTURES}/${name}-${width}-${colorScheme}.png`,
          fullPage: true,
        })
      await page.screenshot({ path: info.outputPath(`${name}.png`) })
    }
    await page.goto('/boards')
    await expect(page.getByRole('row')).not.toHaveCount(0)
    expect(await findings(page)).toEqual([])
    await shot('boards')
    await page.goto(`/boards/${board.id}`)
    await expect(page.getByRole('img', { name: 'Cost by month' })).toBeVisible()
    await expect(page.getByRole('img', { name: /^Where they are/ })).toBeVisible()
    await expect(page.getByRole('table', { name: 'Stage by year' })).toBeVisible()
    await expect(tile(page, 'Of a View that is gone')).toContainText('This View is gone')
    expect(await findings(page)).toEqual([])
    // The page does not scroll sideways.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await shot('board')
    if (process.env.ATLAS_PICTURES) {
      await page.evaluate(() => document.querySelector('main')?.scrollTo(0, 700))
      await shot('board-below')
    }
    await page.getByRole('button', { name: 'More about By use' }).click()
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.emulateMedia({ media: 'print' })
    await expect(page.getByRole('button', { name: 'Refresh' })).toBeHidden()
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await expect(page.getByText(/^Counted at/)).toBeVisible()
    // Everything is on paper, and paper is white.
    expect(await page.evaluate(() => getComputedStyle(document.querySelector('main') ?? document.body).overflow)).toBe(
      'visible',
    )
    expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(255, 255, 255)')
    await shot('board-print')
    await page.emulateMedia({ media: null })
    await page.goto('/projects?look=chart&by=stage')
    await counted(page)
    await page.getByRole('button', { name: 'Add to board' }).click()
    await expect(page.getByRole('dialog').getByLabel('Board')).toBeEnabled()
    expect(await findings(page)).toEqual([])
    await shot('board-add')
    await drop(board)
    await remove(view)
  })

  test('a workspace without boards has an explanation', async ({ page, colorScheme }) => {
    await enter(page)
    await page.route('**/workspace/boards?*', (route) =>
      route.fulfill({ json: { data: { boards: [] }, metadata: { credits_charged: 0, limit: 100, offset: 0 } } }),
    )
    await page.goto('/boards')
    await expect(page.getByRole('heading', { name: 'No boards yet' })).toBeVisible()
    expect(await findings(page)).toEqual([])
    if (process.env.ATLAS_PICTURES)
      await page.screenshot({ path: `${process.env.ATLAS_PICTURES}/boards-empty-${width}-${colorScheme}.png` })
    await page.getByRole('link', { name: 'Projects by use and year' }).click()
    await expect(page.getByRole('button', { name: 'Add to board' })).toBeVisible()
  })
})
