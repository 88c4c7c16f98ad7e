import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { pmtiles } from './pmtiles'
import { enter, expect, service, test, used } from './service'

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const look = (page: Page, name: string) => page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name })
const circles = (page: Page) => page.locator('.cell-circle')
const chart = (page: Page) => page.getByRole('img', { name: / by / }).and(page.locator('svg'))

test('three looks at one search, which are free', async ({ page }) => {
  await enter(page, '/projects?stage=completed&cost=10000..')
  const before = await used()
  await look(page, 'Chart').click()
  await expect(page).toHaveURL('/projects?stage=completed&cost=10000..&look=chart')
  await expect(chart(page)).toBeVisible()
  await look(page, 'Map').click()
  await expect(page).toHaveURL('/projects?stage=completed&cost=10000..&look=map')
  await expect(circles(page).first()).toBeVisible()
  await look(page, 'Table').click()
  await expect(page).toHaveURL('/projects?stage=completed&cost=10000..')
  await page.goBack()
  await expect(circles(page).first()).toBeVisible()
  expect(await used()).toBe(before)
})

test('a chart is chosen, drilled and shared by its address', async ({ page }) => {
  await enter(page, '/projects?look=chart&by=permitted_at:year')
  await page.getByLabel('Show').selectOption({ label: 'Total cost' })
  await expect(page).toHaveURL('/projects?look=chart&by=permitted_at:year&of=sum:cost')
  const title = page.getByRole('heading', { level: 2, name: 'Total cost of projects by year of permit' })
  await expect(title).toBeVisible()
  await expect(chart(page)).toBeVisible()
  // The nearest bar is the one that counts, here the last.
  const all = await heading(page).textContent()
  const box = await chart(page).boundingBox()
  await chart(page).click({ position: { x: (box?.width ?? 0) * 0.9, y: (box?.height ?? 0) - 60 } })
  await expect(page).toHaveURL(/permitted_at=(\d{4})-01-01\.\.\1-12-31&look=chart&by=permitted_at:month&of=sum:cost$/)
  await expect(heading(page)).not.toHaveText(all ?? '')
  await expect(page.getByRole('heading', { name: 'Total cost of projects by month of permit' })).toBeVisible()
  await page.goBack()
  await expect(title).toBeVisible()
})

test('a chart has a table, for keys too', async ({ page }) => {
  await enter(page, '/projects?look=chart&by=stage')
  const table = page.getByRole('table', { name: 'Projects by stage' })
  await expect(table.getByRole('row', { name: /^Completed/ })).toHaveCount(1)
  await page.getByRole('button', { name: 'Numbers' }).press('Enter')
  await expect(chart(page)).toBeHidden()
  await table.getByRole('button', { name: 'Filed' }).press('Enter')
  await expect(page).toHaveURL('/projects?stage=filed&look=chart&by=stage')
  // The table counts what the search does.
  const filed = await table
    .getByRole('row', { name: /^Filed/ })
    .getByRole('cell')
    .textContent()
  await expect(heading(page)).toHaveText(`${filed} projects`)
  // Another click deselects a value.
  await table.getByRole('button', { name: 'Filed' }).press('Enter')
  await expect(page).toHaveURL('/projects?look=chart&by=stage')
})

test('a firm is drilled by its name', async ({ page }) => {
  await enter(page, '/projects?look=chart&by=account_ids')
  await page.getByRole('button', { name: 'Numbers' }).click()
  const firm = page.getByRole('table').getByRole('button').first()
  const name = await firm.textContent()
  // The name is already known: no request is sent for it.
  await page.route('**/data/projects/facets*', (route) =>
    JSON.stringify(route.request().postDataJSON()).includes('"limit":5}') ? route.abort() : route.fallback(),
  )
  await firm.click()
  await expect(page).toHaveURL(/account_ids=[0-9a-f-]{36}&look=chart/)
  await expect(page.locator('.sentence')).toContainText(`is ${name}`)
})

test('numbers are drilled without gaps', async ({ page }) => {
  await enter(page, '/projects?look=chart&by=cost&cost=1000000..')
  await page.getByRole('button', { name: 'Numbers' }).click()
  const rows = page.getByRole('table').getByRole('row')
  await expect(rows.nth(1)).toBeVisible()
  const counts = await rows.getByRole('cell').allTextContents()
  const sum = counts.reduce((n, text) => n + Number(text.replace(',', '')), 0)
  await expect(heading(page)).toHaveText(`${sum} projects`)
})

test('charts can be downloaded', async ({ page }) => {
  await enter(page, '/projects?look=chart&by=account_ids&of=avg:cost')
  await expect(chart(page)).toBeVisible()
  const files: Record<string, Buffer> = {}
  for (const name of ['Picture, SVG', 'Picture, PNG', 'Numbers, CSV']) {
    await page.getByRole('button', { name: 'Download' }).click()
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()])
    const file = download.suggestedFilename()
    expect(file).toMatch(/^average-cost-of-projects-by-firm\.(svg|png|csv)$/)
    files[file.slice(-3)] = readFileSync(await download.path())
  }
  const svg = String(files.svg)
  expect(svg).toMatch(/<text [^>]*text-anchor="start"[^>]*>Average cost of projects by firm<\/text>/)
  expect(svg).not.toMatch(/var\(|style/)
  expect(files.png?.subarray(1, 4).toString()).toBe('PNG')
  const lines = String(files.csv).trim().split('\n')
  expect(lines[0]).toBe('Firms,Count,Average cost')
  expect(lines).toHaveLength(21)
  expect((svg.match(/<rect/g) ?? []).length).toBe(21)
})

test('cells split, and the address keeps the view', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const first = await circles(page).first().textContent()
  await circles(page).first().click()
  await expect(page).toHaveURL(/\/projects\?look=map&at=[\d.]+,-[\d.]+,[\d.]+$/)
  await expect(circles(page).first()).not.toHaveText(first ?? '')
  const address = page.url()
  await page.reload()
  await expect(circles(page).first()).toBeVisible()
  expect(page.url()).toBe(address)
  await page.getByRole('button', { name: 'Show all' }).click()
  await expect(page).toHaveURL('/projects?look=map')
  await expect(circles(page).first()).toHaveText(first ?? '')
})

test('an area is drawn, and is a condition as any other', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const all = await heading(page).textContent()
  const drag = async (tool: string) => {
    await page.getByRole('button', { name: tool }).click()
    const box = await page.locator('.draw').boundingBox()
    const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2]
    await page.mouse.move(x - 60, y - 40)
    await page.mouse.down()
    await page.mouse.move(x, y, { steps: 4 })
    await page.mouse.move(x + 80, y + 70, { steps: 4 })
    await page.mouse.up()
  }
  await drag('Draw a box')
  await expect(page).toHaveURL(/\/projects\?location=[\d.]+\.\.[\d.]+,-[\d.]+\.\.-[\d.]+&look=map$/)
  await expect(page.getByRole('main')).toContainText(/Location is between [\d.]+° and [\d.]+° N, [\d.]+° and [\d.]+° W/)
  await expect(heading(page)).not.toHaveText(all ?? '')
  await page.getByRole('button', { name: 'Clear the area' }).click()
  await expect(heading(page)).toHaveText(all ?? '')
  await drag('Draw a circle')
  await expect(page).toHaveURL(/\/projects\?location=[\d.]+,-[\d.]+,[\d.]+km&look=map$/)
  await expect(page.getByRole('main')).toContainText(/Location is within [\d.]+ km of/)
  await expect(heading(page)).not.toHaveText(all ?? '')
  // The counts of the map and of the search are equal.
  const found = Number((await heading(page).textContent())?.replace(/\D/g, ''))
  const sum = async () => (await circles(page).allTextContents()).reduce((n, text) => n + Number(text), 0)
  await expect.poll(sum).toBe(found)
  await page.getByRole('button', { name: 'Draw a box' }).click()
  await page.keyboard.press('Escape')
  await expect(page.locator('.draw')).toBeHidden()
})

test('an area is drawn by its corners, with the mouse and with keys', async ({ page }) => {
  await enter(page, '/projects?look=map')
  await expect(circles(page).first()).toBeVisible()
  const all = await heading(page).textContent()
  await page.getByRole('button', { name: 'Draw an area' }).click()
  const draw = page.locator('.draw')
  const box = await draw.boundingBox()
  const at = (x: number, y: number) => ({ position: { x: (box?.width ?? 0) / 2 + x, y: (box?.height ?? 0) / 2 + y } })
  for (const [x, y] of [
    [-120, -90],
    [120, 90],
    [120, -90],
  ] as const)
    await draw.click(at(x, y))
  await draw.click(at(-120, 90))
  await expect(page.getByText('The border crosses itself.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Done' })).toBeDisabled()
  await page.keyboard.press('Backspace')
  await draw.dblclick(at(0, -120))
  const corner = String.raw`[\d.]+(,|%2C)-[\d.]+`
  await expect(page).toHaveURL(new RegExp(`location=${corner}(\\+${corner}){3}&look=map$`))
  await expect(page.getByRole('main')).toContainText(/Location is in an area with 4 corners around 51\./)
  await expect(heading(page)).not.toHaveText(all ?? '')
  const drawn = await heading(page).textContent()
  const found = Number(drawn?.replace(/\D/g, ''))
  const sum = async () => (await circles(page).allTextContents()).reduce((n, text) => n + Number(text), 0)
  await expect.poll(sum).toBe(found)
  // The address has it, and it can be changed: a corner is dragged away.
  await page.reload()
  await expect(heading(page)).toHaveText(drawn ?? '')
  await page.getByRole('button', { name: 'Change the area' }).click()
  await page.keyboard.press('Delete')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('main')).toContainText(/in an area with 3 corners/)
  await page.getByRole('button', { name: 'Clear the area' }).click()
  await expect(heading(page)).toHaveText(all ?? '')
  await page.getByRole('button', { name: 'Draw an area' }).press('Enter')
  await expect(draw).toBeFocused()
  for (const key of ['Space', 'Shift+ArrowRight', 'Space', 'Shift+ArrowDown', 'Space', 'Enter'])
    await page.keyboard.press(key)
  await expect(page.getByRole('main')).toContainText(/in an area with 3 corners/)
  await page.getByRole('button', { name: 'Change the area' }).click()
  await page.keyboard.press('Escape')
  await expect(draw).toBeHidden()
})

test('places are chosen with keys', async ({ page }) => {
  await enter(page, '/projects?look=map&at=51.0447,-114.0719,13')
  const sight = page.getByRole('button', { name: 'Only what is in sight' })
  await expect(sight).toBeEnabled()
  await sight.press('Enter')
  await expect(page).toHaveURL(/\/projects\?location=51\.[\d.]+\.\.51\.[\d.]+,-114\.[\d.]+\.\.-114\.[\d.]+&look=map$/)
  await page.getByRole('button', { name: 'Table of places' }).press('Enter')
  await page
    .getByRole('button', { name: /^Zoom in 51\./ })
    .first()
    .press('Enter')
  await expect(page).toHaveURL(/&look=map&at=51\./)
})

test('rows of the book are points', async ({ page }) => {
  const { base_url, workspaces } = service()
  const headers = { Authorization: `Bearer ${workspaces[0]?.api_key}`, 'Content-Type': 'application/json' }
  const ask = async (path: string, body: object) => {
    const response = await fetch(base_url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return ((await response.json()) as { data: { id: string }[] }).data
  }
  const filters = { stage: { value: 'under_construction' }, location: { known: true } }
  const found = await ask('/data/projects/search', { limit: 3, fields: ['name'], filters })
  for (const { id } of found)
    await ask('/workspace/projects/upsert', { project_id: id, workspace_status: 'on the map' })
  await enter(page, '/book/projects?workspace_status=on+the+map&look=map')
  const before = await used()
  await expect(circles(page).first()).toBeVisible()
  await page.getByRole('button', { name: 'Show 3 rows · 3 credits' }).click()
  await expect(page.getByText('3 of 3 loaded, shown as points')).toBeVisible()
  // Points take the place of the circles.
  await expect(circles(page)).toHaveCount(0)
  expect(await used()).toBe(before + 3)
  await page.getByRole('link', { name: /^Firms \d/ }).click()
  await expect(page.getByRole('button', { name: /credits$/ })).toHaveCount(0)
  await ask('/workspace/projects/delete/batch', { ids: found.map((r) => r.id) })
})

test('loaded rows are points', async ({ page }) => {
  await enter(page, '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&look=map')
  await expect(circles(page).first()).toBeVisible()
  const before = await used()
  const response = page.waitForResponse('**/data/projects/search*')
  await page.getByRole('button', { name: /^Show \d+ rows? · \d+ credits?$/ }).click()
  await expect(page.getByText(/^(\d+) of \1 loaded, shown as points$/)).toBeVisible()
  // All are loaded, so there is nothing left to count.
  await expect(circles(page)).toHaveCount(0)
  const price = (await used()) - before
  const { data } = (await (await response).json()) as { data: { name: string; latitude: number; longitude: number }[] }
  const { latitude, longitude } = data[0] ?? { latitude: 0, longitude: 0 }
  await page.evaluate(
    (at) => {
      history.pushState(
        null,
        '',
        `/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&look=map&at=${at}`,
      )
      dispatchEvent(new PopStateEvent('popstate'))
    },
    `${latitude.toFixed(4)},${longitude.toFixed(4)},14`,
  )
  const card = page.locator('.point-card')
  const box = await page.locator('.map-canvas').boundingBox()
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + (box?.height ?? 0) / 2]
  // The map moves a moment; then the point is in its middle, but for two pixels that the address rounds.
  await expect(async () => {
    await page.mouse.move(x + 60, y)
    await page.mouse.move(x, y, { steps: 3 })
    await expect(card).toBeVisible({ timeout: 200 })
  }).toPass()
  const name = await card.locator('b').textContent()
  await page.mouse.click(x, y)
  await expect(page.locator('.drawer').getByRole('heading', { level: 2 }).first()).toHaveText(name ?? '')
  expect(await used()).toBe(before + price)
})

test('without WebGL there is a table of places', async ({ page }) => {
  await page.addInitScript(() => {
    const getContext = HTMLCanvasElement.prototype.getContext
    Object.assign(HTMLCanvasElement.prototype, {
      getContext(this: HTMLCanvasElement, kind: string, ...rest: unknown[]) {
        return kind.startsWith('webgl') ? null : Reflect.apply(getContext, this, [kind, ...rest])
      },
    })
  })
  const scripts: string[] = []
  page.on('request', (r) => scripts.push(r.url()))
  await enter(page, '/projects?look=map')
  await expect(page.getByText('This browser cannot draw the map')).toBeVisible()
  const all = await heading(page).textContent()
  await page
    .getByRole('button', { name: /^Only these 5/ })
    .first()
    .click()
  await expect(page).toHaveURL(/location=/)
  await expect(heading(page)).not.toHaveText(all ?? '')
  expect(scripts.filter((url) => url.includes('maplibre'))).toEqual([])
})

test('records without a location are reported', async ({ page }) => {
  await enter(page, '/signals?look=map')
  await expect(page.getByRole('heading', { name: 'Signals have no location' })).toBeVisible()
  await page.getByRole('link', { name: 'Map of projects' }).click()
  await expect(page).toHaveURL('/projects?look=map')
})

test('the first screen has a static map without the map library', async ({ page }) => {
  const files: string[] = []
  page.on('request', (r) => files.push(r.url()))
  await enter(page)
  await expect(page.getByRole('img', { name: 'Projects on a map' })).toBeVisible()
  expect(files.filter((url) => /map-canvas|maplibre|chart-look|fine/.test(url))).toEqual([])
  await page.getByRole('link', { name: /Open the map/ }).click()
  await expect(page).toHaveURL('/projects?look=map')
})

test('names are escaped in charts', async ({ page }) => {
  const names = ['<img src=x onerror="document.title=1">', 'x'.repeat(20_000), 'شركة البناء \u202E123', '😀👩‍👩‍👧‍👦']
  await enter(page)
  await page.route('**/data/projects/facets*', async (route) => {
    const response = await route.fetch()
    const body = (await response.json()) as { data: { facets: { field?: string; values?: { label: string }[] }[] } }
    const values = body.data.facets.find((f) => f.field === 'account_ids')?.values ?? []
    names.forEach((label, i) => Object.assign(values[i] ?? {}, { label }))
    await route.fulfill({ response, json: body })
  })
  await page.goto('/projects?look=chart&by=account_ids')
  await expect(chart(page)).toBeVisible()
  for (const name of names) await expect(page.getByRole('rowheader', { name, exact: true })).toHaveCount(1)
  await page.getByRole('button', { name: 'Numbers' }).click()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle(/projects · Atlas$/)
})

test('failed counts can be retried', async ({ page }) => {
  await enter(page)
  await page.route('**/data/projects/facets*', (route) => {
    const facets = (route.request().postDataJSON() as { facets: { measure?: unknown; geo?: unknown }[] }).facets
    if (!facets.some((f) => f.measure ?? f.geo)) return route.fallback()
    return route.fulfill({
      status: 500,
      headers: { 'X-Request-Id': 'request-1' },
      json: { error: { code: 'internal' } },
    })
  })
  for (const address of ['/projects?look=chart&by=stage&of=sum:cost', '/projects?look=map']) {
    await page.goto(address)
    await expect(page.getByRole('alert')).toContainText('request-1')
  }
  await page.unroute('**/data/projects/facets*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(circles(page).first()).toBeVisible()
})

everywhere((width) => {
  test('charts and map pass axe', async ({ page }) => {
    await enter(page, '/projects?look=chart&by=permitted_at:year')
    await expect(chart(page)).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Numbers' }).click()
    expect(await findings(page)).toEqual([])
    await page.goto('/projects?look=map&stage=filed')
    await expect(circles(page).first()).toBeVisible()
    await page.getByRole('button', { name: 'Table of places' }).click()
    expect(await findings(page)).toEqual([])
    await page.getByRole('combobox', { name: 'Go to a city, an address or a project' }).fill('calg')
    await expect(page.locator('.go-to').getByRole('option').first()).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.goto('/contacts?look=map')
    await expect(page.getByRole('link', { name: 'Map of projects' })).toBeVisible()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})

test('streets of an archive are beneath the circles, read by ranges', async ({ page }) => {
  const archive = pmtiles([
    {
      kind: 'motorway',
      points: [
        [-115, 51.05],
        [-113, 51.05],
      ],
    },
    {
      kind: 'primary',
      points: [
        [-114.07, 50],
        [-114.07, 52],
      ],
    },
  ])
  const ranges: string[] = []
  await page.route('**/map/tiles.json', (route) =>
    route.fulfill({ json: { url: '/map/archive.pmtiles', archive: true, attribution: '© <b>Somebody</b>' } }),
  )
  await page.route('**/map/archive.pmtiles', (route) => {
    const range = route.request().headers().range ?? ''
    ranges.push(range)
    const [, from = '', to = ''] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? []
    const last = Math.min(Number(to), archive.length - 1)
    return route.fulfill({
      status: 206,
      headers: { etag: '"1"', 'content-range': `bytes ${from}-${last}/${archive.length}` },
      contentType: 'application/vnd.pmtiles',
      body: archive.subarray(Number(from), last + 1),
    })
  })
  const errors: string[] = []
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()))
  await enter(page, '/projects?look=map&at=51.05,-114.07,11')
  await expect(page.getByText('© <b>Somebody</b> · Outlines: Natural Earth')).toBeVisible()
  await expect(circles(page).first()).toBeVisible()
  await expect.poll(() => ranges.length, { timeout: 20_000 }).toBeGreaterThan(1)
  expect(ranges.every((r) => /^bytes=\d+-\d+$/.test(r))).toBe(true)
  expect(errors).toEqual([])
})

test('without tiles the map names cities', async ({ page }) => {
  const cities = page.waitForResponse(/cities-.*\.js/)
  const errors: string[] = []
  page.on('console', (m) => m.type() === 'error' && errors.push(m.text()))
  await enter(page, '/projects?look=map&at=51.05,-114.07,6')
  await cities
  await expect(page.getByText('Outlines: Natural Earth')).toBeVisible()
  await expect(circles(page).first()).toBeVisible()
  expect(errors).toEqual([])
})
