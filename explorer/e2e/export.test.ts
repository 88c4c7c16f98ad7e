import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Download, Page, Route } from '@playwright/test'
import { everywhere, findings } from './axe'
import { enter, expect, newFolder, service, test, used } from './service'
import { admin, call, create, firms, remove, unique } from './workspace'

const atlas = join(process.env.ATLAS_DEV ?? '../bin/atlas-dev', '..', 'atlas')

/** byCommand is the file that `atlas export` writes. */
function byCommand(...words: string[]): string {
  const { base_url, workspaces } = service()
  const out = join(newFolder(), 'out')
  execFileSync(
    atlas,
    ['export', ...words, '--out', out, '--url', base_url, '--api-key', workspaces[0]?.api_key ?? ''],
    {
      stdio: 'pipe',
    },
  )
  return readFileSync(out, 'utf8')
}

const contents = async (download: Download) => readFileSync(await download.path(), 'utf8')

const searches = '**/data/accounts/search?*'

/** gate lets the first pages of an export pass, and holds the next until it is opened. */
async function gate(
  page: Page,
  pages: number,
  pattern = searches,
): Promise<{ held: Promise<void>; open: () => Promise<void> }> {
  let passed = 0
  let seen: () => void = () => undefined
  const held = new Promise<void>((resolve) => (seen = resolve))
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const hold = async (route: Route) => {
    if (route.request().postData()?.includes('dry_run') || ++passed <= pages) return route.continue()
    seen()
    await released
    await route.continue().catch(() => undefined)
  }
  await page.route(pattern, hold)
  return {
    held,
    open: async () => {
      await page.unroute(pattern, hold)
      release()
    },
  }
}

// 200 to 300 rows: three pages.
const search = '/accounts?projects_count=3..&sort=projects_count:desc'
const words = ['accounts', '--filter', 'projects_count=3..', '--sort', 'projects_count:desc']
const begin = (page: Page) => page.getByRole('button', { name: /^Export [\d,]+ rows · [\d,]+ credits$/ })
/** asCommand chooses a file as the command line writes it; by default one is for people. */
const asCommand = (page: Page) => page.getByRole('checkbox', { name: /^For people/ }).uncheck()
const status = (page: Page) => page.locator('main [role=status]')

test('the price is shown first, and the file is the same as of the command line', async ({ page }) => {
  await enter(page, search)
  const before = await used()
  await page.getByRole('link', { name: /^Export/ }).click()
  await expect(page).toHaveURL(`/export${search}`)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\d+ firms$/)
  const rows = parseInt((await page.getByRole('heading', { level: 1 }).textContent()) ?? '')
  await expect(begin(page)).toHaveText(`Export ${rows} rows · ${rows} credits`)
  expect(await used()).toBe(before)
  await asCommand(page)
  const [download] = await Promise.all([page.waitForEvent('download'), begin(page).click()])
  expect(download.suggestedFilename()).toMatch(/^accounts-[\d-]{10}\.csv$/)
  await expect(status(page)).toHaveText('Complete.')
  expect(await used()).toBe(before + rows)
  expect(await contents(download)).toBe(byCommand(...words, '--format', 'csv'))
  expect(rows).toBeGreaterThan(200)
  // A second download is free, also after a reload.
  await page.reload()
  const paid = await used()
  const [secondDownload] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the file' }).click(),
  ])
  expect((await contents(secondDownload)).split('\n')).toHaveLength(rows + 2)
  expect(await used()).toBe(paid)
  await page.getByRole('button', { name: 'Remove from this browser' }).click()
  await expect(page.getByText('None yet.')).toBeVisible()
})

const files: [string, string, string[]][] = [
  ['projects', '/projects?q=garage&cost=200000..', ['projects', '-q', 'garage', '--filter', 'cost=200000..']],
  [
    'accounts',
    '/accounts?city=calgary&projects_count=10..',
    ['accounts', '--filter', 'city=calgary', '--filter', 'projects_count=10..'],
  ],
  ['contacts', '/contacts?projects_count=3..', ['contacts', '--filter', 'projects_count=3..']],
  ['signals', '/signals?signal_type=permit_expired', ['signals', '--filter', 'signal_type=permit_expired']],
]
for (const [name, address, command] of files) {
  test(`${name} are written as by the command line`, async ({ page }) => {
    await enter(page)
    for (const format of ['csv', 'ndjson']) {
      await page.goto(`/export${address}`)
      await page.getByRole('radio', { name: format.toUpperCase() }).check()
      if (format === 'csv') await asCommand(page)
      await page.getByRole('radio', { name: 'The first' }).check()
      await page.getByRole('spinbutton', { name: 'How many rows' }).fill('120')
      const [download] = await Promise.all([page.waitForEvent('download'), begin(page).click()])
      const want = byCommand(...command, '--format', format).split('\n')
      const rows = (await contents(download)).split('\n')
      expect(rows.length).toBeGreaterThan(10)
      // No row of these has a line break, so rows are lines.
      expect(rows.slice(0, -1)).toEqual(want.slice(0, rows.length - 1))
      if (rows.length < 120) expect(rows).toHaveLength(want.length)
    }
  })
}

test('the book is exported with annotations', async ({ page }) => {
  const [firm, other] = await firms(2)
  const status = 'to call, “now”'
  await call('POST', '/workspace/accounts/upsert', {
    account_id: firm?.id,
    workspace_status: status,
    tags: ['a;b', '=c'],
  })
  await call('POST', '/workspace/accounts/upsert', { account_id: other?.id, notes: 'line\nline' })
  await enter(page, '/book/accounts?sort=name:asc')
  const before = await used()
  await page.getByRole('link', { name: /^Export/ }).click()
  await expect(page).toHaveURL('/export/book/accounts?sort=name:asc')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\d+ firms? in your book$/)
  const count = Number(/[\d,]+/.exec((await begin(page).textContent()) ?? '')?.[0])
  await asCommand(page)
  const [download] = await Promise.all([page.waitForEvent('download'), begin(page).click()])
  expect(await used()).toBe(before + count)
  const file = await contents(download)
  const columns = file.slice(0, file.indexOf('\n'))
  expect(columns).toContain('city')
  expect(file).toBe(byCommand('--book', 'accounts', '--sort', 'name', '--format', 'csv', '--columns', columns))
  expect(file).toContain(`,"${status}",,a\\;b;=c,`)
  for (const one of [firm, other]) await call('DELETE', `/workspace/accounts/${one?.id}`)
})

test('the export of a View is paused, resumed, and stops when its definition changes', async ({ page }) => {
  const definition = (...account_type: string[]) => ({ version: 1, q: '', fields: { account_type } })
  const view = await create(unique('Firms'), { view_type: 'dynamic', definition: definition('general_contractor') })
  const pages = '**/workspace/views/*/records/search?*'
  await enter(page, `/views/${view.id}?sort=name:asc`)
  const before = await used()
  await page.getByRole('link', { name: /^Export/ }).click()
  await expect(page).toHaveURL(`/export/views/${view.id}?sort=name:asc`)
  await expect(page.getByText(`Export · ${view.name}`)).toBeVisible()
  const first = await gate(page, 1, pages)
  await asCommand(page)
  await begin(page).click()
  await first.held
  await page.getByRole('button', { name: 'Pause' }).click()
  await first.open()
  await expect(status(page)).toHaveText('Paused.')
  await page.reload()
  await expect(page.getByText(/^200 of [\d,]+$/)).toBeVisible()
  expect(await used()).toBe(before + 200)

  const second = await gate(page, 0, pages)
  await page.getByRole('button', { name: /^Resume/ }).click()
  await second.held
  await call('POST', '/workspace/views/upsert', { id: view.id, definition: definition('lender') }, admin)
  await second.open()
  await expect(status(page)).toHaveText(/^Stopped\./)
  await expect(page.getByRole('alert')).toContainText('Somebody has changed this View')
  await expect(page.getByText(/^200 of [\d,]+$/)).toBeVisible()
  await call('POST', '/workspace/views/upsert', { id: view.id, definition: definition('general_contractor') }, admin)
  const [part] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save 200 rows' }).click(),
  ])
  const rows = (await contents(part)).split('\n').slice(0, -1)
  const columns = rows[0] ?? ''
  const whole = byCommand('--view', view.id, '--sort', 'name', '--format', 'csv', '--columns', columns).split('\n')
  expect(columns).toContain('city')
  expect(rows).toEqual(whole.slice(0, rows.length))
  await remove(view)
})

test('chosen columns', async ({ page }) => {
  await enter(page)
  await page.goto(`/export${search}`)
  await expect(page.getByLabel('Firm', { exact: true })).toBeChecked()
  await asCommand(page)
  await page.getByRole('button', { name: 'None', exact: true }).click()
  await expect(page.getByRole('button', { name: /^Export \d/ })).toBeDisabled()
  await page.getByLabel('name', { exact: true }).check()
  await page.getByLabel('projects_count', { exact: true }).check()
  const [download] = await Promise.all([page.waitForEvent('download'), begin(page).click()])
  expect(await contents(download)).toBe(byCommand(...words, '--format', 'csv', '--columns', 'name,projects_count'))
})

const withBoth = (page: Page) => page.getByRole('checkbox', { name: /^With project and person/ })
const some = (page: Page) => page.getByRole('button', { name: /^Export [\d,]+ rows · up to [\d,]+ credits$/ })

test('firms come with a project and a person, as by the command line', async ({ page }) => {
  await enter(page)
  const address = '/accounts?projects_count=12..&has_project.cost=100000..&sort=projects_count:desc'
  await page.goto(`/export${address}`)
  await expect(begin(page)).toBeEnabled()
  await withBoth(page).check()
  const rows = parseInt((await page.getByRole('heading', { level: 1 }).textContent()) ?? '')
  // More than a page of joins.
  expect(rows).toBeGreaterThan(33)
  await expect(some(page)).toHaveText(`Export ${rows} rows · up to ${3 * rows} credits`)
  await asCommand(page)
  const before = await used()
  const [download] = await Promise.all([page.waitForEvent('download'), some(page).click()])
  const paid = (await used()) - before
  const file = await contents(download)
  const options = ['--filter', 'projects_count=12..', '--filter', 'has_project.cost=100000..', '--join']
  expect(file).toBe(byCommand('accounts', ...options, '--sort', 'projects_count:desc', '--format', 'csv'))
  expect(paid).toBeGreaterThan(2 * rows)
  expect(paid).toBeLessThanOrEqual(3 * rows)
  expect(file.split('\n')[0]).toMatch(/,project_cost,.*,contact_name,/)
  await expect(page.getByText(`${paid} credits`, { exact: true })).toBeVisible()

  // The project with another number.
  await page.goto(`/export${address}`)
  await withBoth(page).check()
  await page.getByRole('combobox', { name: 'Project with' }).selectOption('the largest floor area')
  await expect(page.getByText(/^beside each firm the project with the largest floor area, /)).toBeVisible()
  await asCommand(page)
  const [other] = await Promise.all([page.waitForEvent('download'), some(page).click()])
  const byArea = await contents(other)
  expect(byArea).toBe(
    byCommand('accounts', ...options, '--project-by', 'sqft', '--sort', 'projects_count:desc', '--format', 'csv'),
  )
  expect(byArea).not.toBe(file)

  // For people, with the columns that they choose.
  await page.goto(`/export${address}`)
  await withBoth(page).check()
  await page.getByRole('button', { name: 'None', exact: true }).click()
  for (const name of ['Firm', 'Project: Cost', 'Person', 'Person: Role']) {
    await page.locator('.columns-choice').getByLabel(name, { exact: true }).check()
  }
  await page.getByRole('radio', { name: 'The first' }).check()
  await page.getByRole('spinbutton', { name: 'How many rows' }).fill('2')
  await expect(some(page)).toHaveText('Export 2 rows · up to 6 credits')
  const [second] = await Promise.all([page.waitForEvent('download'), some(page).click()])
  const [head, first] = (await contents(second)).split('\n')
  expect(head).toBe('Firm,Project: Cost,Person,Person: Role')
  expect(first).toMatch(/,\d+.*,[A-Z]/)
})

test('firms of the book come with a project and a person, rows of others do not', async ({ page }) => {
  const [firm] = await firms(1)
  await call('POST', '/workspace/accounts/upsert', { account_id: firm?.id, tags: ['joined'] })
  await enter(page)
  await page.goto('/export/book/accounts?tags=joined')
  await withBoth(page).check()
  await asCommand(page)
  const button = page.getByRole('button', { name: 'Export 1 row · up to 3 credits' })
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
  const columns = (await contents(download)).split('\n')[0] ?? ''
  expect(columns).toMatch(/,tags,.*,project_cost,/)
  const words = ['--book', 'accounts', '--filter', 'tags=joined', '--join', '--format', 'csv', '--columns', columns]
  expect(await contents(download)).toBe(byCommand(...words))
  await call('DELETE', `/workspace/accounts/${firm?.id}`)
  await page.goto('/export/projects?q=garage')
  await expect(begin(page)).toBeEnabled()
  await expect(withBoth(page)).toBeHidden()
})

test('pause, reload and resume charge nothing twice', async ({ page, context }) => {
  await enter(page)
  await page.goto(`/export${search}`)
  await asCommand(page)
  const before = await used()
  const first = await gate(page, 1)
  await begin(page).click()
  await first.held
  await page.getByRole('button', { name: 'Pause' }).click()
  await first.open()
  // The page in progress is stored.
  await expect(status(page)).toHaveText('Paused.')
  await expect(page.getByText(/^200 of \d+$/)).toBeVisible()
  await page.reload()
  await expect(status(page)).toHaveText('Paused.')
  expect(await used()).toBe(before + 200)

  // Another tab finds it, sees that this one runs it, and can pause it.
  const second = await gate(page, 0)
  await page.getByRole('button', { name: /^Resume · up to \d+ credits$/ }).click()
  await second.held
  const other = await context.newPage()
  await other.goto(`/export${search}`)
  await other.getByRole('link', { name: /^accounts-/ }).click()
  await expect(status(other)).toHaveText('Writing, in another tab…')
  await other.getByRole('button', { name: 'Pause' }).click()
  await second.open()
  await expect(status(page)).toHaveText(/^(Paused|Complete)\.$/)
  await expect(status(other)).toHaveText((await status(page).textContent()) ?? '')
  await expect(other.getByText(/^300 of \d+$|^(2\d\d) of \1$/)).toBeVisible()
  await other.close()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^Resume/ }).click(),
  ])
  const file = await contents(download)
  expect(await used()).toBe(before + file.split('\n').length - 2)
  expect(file).toBe(byCommand(...words, '--format', 'csv'))
})

test('a reload in the middle of a page, and a stop from another tab', async ({ page, context }) => {
  await enter(page)
  await page.goto(`/export${search}`)
  const first = await gate(page, 1)
  await begin(page).click()
  await first.held
  await page.reload()
  await first.open()
  await expect(page.getByText(/^100 of \d+$/)).toBeVisible()
  const second = await gate(page, 0)
  await page.getByRole('button', { name: /^Resume/ }).click()
  await second.held
  const other = await context.newPage()
  await other.goto(page.url())
  await other.getByRole('button', { name: 'Stop and keep 100 rows' }).click()
  await second.open()
  await expect(status(other)).toHaveText(/^Stopped\./)
  await expect(other.getByText(/^200 of \d+$/)).toBeVisible()
  await other.close()
})

test('an old export that was not started is deleted', async ({ page }) => {
  await enter(page)
  await page.goto('/export')
  await expect(page.getByRole('heading', { name: 'Exports' })).toBeVisible()
  const inStore = (write: boolean) =>
    page.evaluate(
      (write) =>
        new Promise((resolve) => {
          const opening = indexedDB.open('atlas-exports')
          opening.onsuccess = () => {
            const store = opening.result.transaction('keep', 'readwrite').objectStore('keep')
            if (write) {
              store.put({ dataset: 'accounts', body: {}, at: Date.now() - 8 * 86_400_000 }, 'source old')
              store.put({ dataset: 'accounts', body: {}, at: Date.now() }, 'source new')
            }
            const all = store.getAllKeys()
            all.onsuccess = () => resolve(all.result)
          }
        }),
      write,
    )
  expect(await inStore(true)).toEqual(['source new', 'source old'])
  await page.reload()
  await expect.poll(() => inStore(false)).toEqual(['source new'])
})

test('an export waits for credits, an outage and a session', async ({ page }) => {
  await enter(page)
  await page.goto(`/export${search}`)
  await asCommand(page)
  const refusals: { status: number; headers: Record<string, string>; code: string; says: RegExp }[] = [
    { status: 503, headers: { 'Retry-After': '1' }, code: 'unavailable', says: /^Atlas cannot answer right now/ },
    {
      status: 429,
      headers: { 'Retry-After': '86400', 'X-Credits-Next-At': '' },
      code: 'rate_limited',
      says: /^The credits are used up. The first ones return at /,
    },
    { status: 401, headers: {}, code: 'unauthorized', says: /^Your session is over/ },
  ]
  await page.route(searches, async (route) => {
    const next = route.request().postData()?.includes('dry_run') ? undefined : refusals.shift()
    if (!next) return route.continue()
    if ('X-Credits-Next-At' in next.headers)
      next.headers['X-Credits-Next-At'] = new Date(Date.now() + 1500).toISOString()
    await route.fulfill({
      status: next.status,
      headers: next.headers,
      json: { error: { code: next.code, message: 'no' } },
    })
  })
  const says = refusals.map((r) => r.says)
  const downloaded = page.waitForEvent('download')
  await begin(page).click()
  await expect(status(page)).toHaveText(says[0] ?? '')
  await expect(status(page)).toHaveText(says[1] ?? '')
  await expect(status(page)).toHaveText(says[2] ?? '')
  await page.getByRole('button', { name: 'I have signed in' }).click()
  expect(await contents(await downloaded)).toBe(byCommand(...words, '--format', 'csv'))
})

test('a stopped export has what was written', async ({ page }) => {
  await enter(page)
  await page.goto(`/export${search}`)
  const held = await gate(page, 1)
  await begin(page).click()
  await held.held
  await expect(page.getByText(/^100 of \d+$/)).toBeVisible()
  await page.getByRole('button', { name: 'Stop and keep 100 rows' }).click()
  await held.open()
  await expect(status(page)).toHaveText(/^Stopped\./)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: /^Save 200 rows/ }).click(),
  ])
  expect((await contents(download)).split('\n')).toHaveLength(202)
  await page.getByRole('link', { name: 'All exports' }).click()
  await expect(page.getByRole('row', { name: /Stopped 200 of/ })).toBeVisible()
})

test('selected rows that were loaded cost nothing', async ({ page }) => {
  const { base_url, workspaces } = service()
  const found = await fetch(`${base_url}/data/accounts/search`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${workspaces[0]?.api_key}`, 'Content-Type': 'application/json' },
    body: '{"filters":{"projects_count":{"value":[3,null]}},"sort":{"field":"projects_count","order":"desc"},"limit":30,"fields":["name"]}',
  })
  const ids = ((await found.json()) as { data: { id: string }[] }).data.map((r) => r.id)
  await enter(page, search)
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  // What startExport does.
  await page.evaluate(
    (list) =>
      new Promise<void>((resolve) => {
        const opening = indexedDB.open('atlas-exports')
        opening.onupgradeneeded = () => opening.result.createObjectStore('keep')
        opening.onsuccess = () => {
          const id = '00000000-0000-4000-8000-000000000001'
          const change = opening.result.transaction('keep', 'readwrite')
          change.objectStore('keep').put({ dataset: 'accounts', body: {}, ids: list }, `source ${id}`)
          change.oncomplete = () => {
            history.pushState(null, '', `/export/${id}`)
            dispatchEvent(new PopStateEvent('popstate'))
            resolve()
          }
        }
      }),
    ids,
  )
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('30 selected firms')
  await asCommand(page)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export 30 rows · 5 credits' }).click(),
  ])
  const rows = (await contents(download)).trim().split('\n').slice(1)
  expect(rows.map((r) => r.slice(0, 36))).toEqual(ids)
  expect(await used()).toBe(before + 5)
})

everywhere((width) => {
  test('export is accessible', async ({ page }) => {
    await enter(page)
    await page.goto(`/export${search}`)
    await expect(begin(page)).toBeEnabled()
    expect(await findings(page)).toEqual([])
    await withBoth(page).check()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    if (process.env.SHOTS) {
      const dark = test.info().titlePath.join().includes('dark') ? 'dark' : 'light'
      await page.screenshot({ path: `${process.env.SHOTS}/join-${width}-${dark}.png`, fullPage: true })
    }
    await withBoth(page).uncheck()
    const held = await gate(page, 1)
    await begin(page).click()
    await held.held
    await expect(page.getByText(/^100 of/)).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Stop and keep 100 rows' }).click()
    await held.open()
    await expect(status(page)).toHaveText(/^Stopped\./)
    expect(await findings(page)).toEqual([])
    await page.getByRole('link', { name: 'All exports' }).click()
    await expect(page.getByRole('table')).toBeVisible()
    expect(await findings(page)).toEqual([])
  })
})
