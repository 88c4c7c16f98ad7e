import { everywhere, findings } from './axe'
import { counted, enter, expect, test, used } from './service'
import { admin, another, call, create, firms, remove, unique } from './workspace'

test('a search is saved as a View, and what it cannot store is listed', async ({ page }) => {
  const name = unique('Permits to look at')
  await enter(page, '/projects?stage=permitted&cost=10000..29999.99&permitted_at=2015-01-01..&unknown=sqft')
  await page.getByRole('button', { name: 'Save as View' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save as View' })
  await expect(dialog).toContainText('Stage is Permitted')
  await expect(dialog).toContainText('Cost is 10,000 to 30,000 – Views take whole numbers')
  await expect(dialog).toContainText('Permit issued is from Jan 1, 2015 on – Views have no filter on this')
  await expect(dialog).toContainText('Floor area (sq ft) is unknown – Views cannot ask whether it is unknown')
  await expect(dialog.getByText(/^The search finds [\d,]+ projects?, the View [\d,]+ projects?\.$/)).toBeVisible()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Save what can be kept' }).click()
  await expect(page.getByText(`“${name}” is in Views now`)).toBeVisible()

  const before = await used()
  await page.getByRole('link', { name: 'Views' }).click()
  const row = page.getByRole('row').filter({ hasText: name })
  await expect(row).toContainText('Saved search of projects')
  await expect(row.getByRole('cell').nth(3)).toHaveText(/^\d+$/)
  await row.getByRole('link', { name }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^\d+ projects in this View$/)
  await expect(page.getByText('Stage is Permitted · Cost is 10,000 to 30,000')).toBeVisible()

  // A filter within the View becomes one of the View.
  await page.getByRole('region', { name: 'Use' }).getByLabel('Single family').check()
  const found = page.getByRole('heading', { level: 1 })
  await expect(page).toHaveURL(/primary_use=single_family$/)
  await counted(page)
  await page.getByRole('button', { name: 'Save as View' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page).not.toHaveURL(/primary_use/)
  await expect(page.getByText('Stage is Permitted · Use is Single family · Cost is 10,000 to 30,000')).toBeVisible()
  await expect(found).toHaveText(/^\d+ projects in this View$/)

  // Its filters are changed in Search.
  await page.getByRole('button', { name: `More about ${name}` }).click()
  await page.getByRole('link', { name: 'Change its filters' }).click()
  await expect(page).toHaveURL(/\/projects\?stage=permitted&primary_use=single_family&cost=10000\.\.30000&view=/)
  await page.getByRole('button', { name: /^Remove Cost/ }).click()
  await page.getByRole('button', { name: 'Update the View' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page).toHaveURL(/\/views\/[0-9a-f-]+$/)
  await expect(page.getByText('Stage is Permitted · Use is Single family', { exact: false })).not.toContainText('Cost')

  // A deletion shows its effects. The address of the View then says that it was deleted.
  const address = page.url()
  await page.getByRole('button', { name: `More about ${name}` }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await expect(page.getByRole('dialog')).toContainText('Its filters are lost, for everyone')
  await page.getByRole('button', { name: 'Delete the View' }).click()
  await expect(page.getByText(`“${name}” is deleted`)).toBeVisible()
  await expect(page.getByRole('row').filter({ hasText: name })).toHaveCount(0)
  await page.goto(address)
  await expect(page.getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  await page.goto('/views/nonsense')
  await expect(page.getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  expect(await used()).toBe(before)
})

test('Favorites are reordered by buttons and keys', async ({ page }) => {
  const views = [await create(unique('Fav A')), await create(unique('Fav B')), await create(unique('Fav C'))]
  await enter(page)
  await page.goto('/views?q=Fav')
  const favorites = page.getByRole('complementary', { name: 'Favorites' })
  const mine = favorites.getByRole('link').filter({ hasText: /^Fav / })
  for (const v of views) {
    await page
      .getByRole('table')
      .getByRole('button', { name: `Favorite: ${v.name}` })
      .click()
    await expect(favorites.getByRole('link', { name: v.name })).toBeVisible()
  }
  const [a, b, c] = views.map((v) => v.name) as [string, string, string]
  await expect(mine).toHaveText([a, b, c])
  await favorites.getByRole('listitem').filter({ hasText: c }).hover()
  const moved = () => page.waitForResponse('**/workspace/favorite-views/upsert*')
  await Promise.all([moved(), favorites.getByRole('button', { name: `Move ${c} up` }).click()])
  await expect(mine).toHaveText([a, c, b])
  await favorites.getByRole('link', { name: a }).focus()
  await Promise.all([moved(), page.keyboard.press('Alt+ArrowDown')])
  await expect(mine).toHaveText([c, a, b])
  await expect(favorites.getByRole('link', { name: a })).toBeFocused()
  await page.reload()
  await expect(mine).toHaveText([c, a, b])
  await favorites.getByRole('button', { name: `Favorite: ${a}` }).click()
  await expect(mine).toHaveText([c, b])
  for (const v of views) await remove(v)
})

test('a failed undo is reported, and can be retried', async ({ page }) => {
  const view = await create(unique('Old name'))
  await enter(page)
  await page.goto(`/views/${view.id}`)
  await page.getByRole('button', { name: `More about ${view.name}` }).click()
  await page.getByRole('button', { name: 'Rename…' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill(unique('New name'))
  await page.getByRole('button', { name: 'Rename' }).click()
  await expect(page.getByText('It is called “New name')).toBeVisible()
  const head = page.getByRole('region', { name: 'View' })
  await expect(head).toContainText('New name')
  const path = '**/workspace/views/upsert*'
  await page.route(path, (route) =>
    route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'the store is away' } } }),
  )
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByText('That is not undone: the store is away')).toBeVisible()
  await page.unroute(path)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(head).toContainText(view.name)
  await remove(view)
})

test('rows of a changed View are read anew, at their price', async ({ page }) => {
  const definition = (...stage: string[]) => ({ version: 1, q: '', fields: { stage } })
  const view = await create(unique('Stages'), { view_type: 'dynamic', definition: definition('permitted') }, 'project')
  await enter(page)
  await page.goto(`/views/${view.id}`)
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  await call('POST', '/workspace/views/upsert', { id: view.id, definition: definition('completed') }, admin)
  await page.getByRole('button', { name: /^Show 25 more/ }).click()
  const changed = page.getByRole('alert')
  await expect(changed).toContainText('Somebody has changed the filters of this View')
  await expect(page.getByText('Stage is Completed')).toBeVisible()
  expect(await used()).toBe(before)
  await page.getByRole('button', { name: 'Show 25 rows · 25 credits' }).click()
  await expect(page.getByRole('grid').getByText('Completed').first()).toBeVisible()
  await expect(page.getByRole('grid').getByText('Permitted')).toHaveCount(0)
  expect(await used()).toBe(before + 25)
  await changed.getByRole('button', { name: 'OK' }).click()
  await expect(changed).toHaveCount(0)
  await remove(view)
})

test('two members change one View: the second gets a conflict', async ({ page, browser }) => {
  const view = await create(unique('Ours'))
  await enter(page)
  await page.goto(`/views/${view.id}`)
  const other = await another(browser, `/views/${view.id}`)
  for (const p of [page, other]) {
    await p.getByRole('button', { name: `More about ${view.name}` }).click()
    await p.getByRole('button', { name: 'Rename…' }).click()
  }
  await other.getByRole('textbox', { name: 'Name' }).fill(`${view.name} theirs`)
  await other.getByRole('button', { name: 'Rename' }).click()
  await expect(other.getByText('It is called')).toBeVisible()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(`${view.name} mine`)
  await dialog.getByRole('button', { name: 'Rename' }).click()
  await expect(dialog.getByRole('alert')).toContainText('Somebody has changed this View since you opened it')
  await expect(dialog).toContainText(`It is called ${view.name} theirs now`)
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await expect(page.getByText(`It is called “${view.name} mine” now`)).toBeVisible()
  // Deleted meanwhile: the next count reports it.
  await remove(view)
  await other.getByRole('combobox', { name: 'Search firms' }).fill('homes')
  await expect(other.getByRole('main').getByRole('heading', { name: 'This View is gone' })).toBeVisible()
  await other.context().close()
})

test('names of Views are escaped', async ({ page }) => {
  const names = ['<img src=x onerror="document.title=1">', `${'long'.repeat(28)}`, 'شركة البناء \u202E123', '😀👩‍👩‍👧‍👦']
  const views = []
  for (const name of names) views.push(await create(unique(name).slice(0, 120)))
  await enter(page)
  await page.goto('/views')
  for (const v of views) {
    const cell = page.getByRole('row').filter({ hasText: v.name }).getByRole('link')
    await expect(cell).toHaveText(v.name)
    await page
      .getByRole('table')
      .getByRole('button', { name: `Favorite: ${v.name}` })
      .click()
  }
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  }
  await page.goto(`/views/${views[1]?.id}`)
  await expect(page.getByRole('heading', { name: 'No firms in this View yet' })).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await expect(page).toHaveTitle(/ · Atlas$/)
  for (const v of views) await remove(v)
})

test('a View stores its columns and their order', async ({ page }) => {
  const list = await create(unique('Columns'))
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: (await firms(3)).map((r) => ({ record_id: r.id })),
  })
  await enter(page)
  await page.goto(`/views/${list.id}`)
  await page.getByRole('button', { name: /^Show 3 rows/ }).click()
  await page.getByRole('button', { name: 'Choose columns' }).click()
  await page.getByRole('checkbox', { name: 'Kind of firm' }).uncheck()
  await page.getByRole('checkbox', { name: 'ID', exact: true }).check()
  await page.keyboard.press('Escape')
  await page.getByLabel('Sorted by', { exact: true }).selectOption('Firm')
  await page.getByRole('button', { name: 'Keep columns and order' }).click()
  await expect(page.getByText(`“${list.name}” keeps its columns and order`)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Keep columns and order' })).toHaveCount(0)

  await page.goto(`/views?q=${encodeURIComponent(list.name)}`)
  await page.getByRole('row').getByRole('link', { name: list.name }).click()
  await expect(page).toHaveURL(/sort=name:asc&cols=name,workspace_status,tags,icp_tier,atlas_score,updated_at,id$/)
  await page.getByRole('button', { name: /^Show 3 rows/ }).click()
  await expect(page.getByRole('columnheader', { name: 'ID' })).toBeVisible()
  await expect(page.getByRole('columnheader', { name: 'Kind of firm' })).toHaveCount(0)
  // The next View does not have them.
  await page.goto('/views')
  await remove(list)
})

test('the book and Views have looks, without what only Data has', async ({ page }) => {
  const view = await create(
    unique('Permitted'),
    { view_type: 'dynamic', definition: { version: 1, q: '', fields: { stage: ['permitted'] } } },
    'project',
  )
  await enter(page)
  await page.goto(`/views/${view.id}`)
  await expect(page.getByRole('link', { name: /^Export/ })).toHaveCount(0)
  await page.getByRole('link', { name: 'Chart' }).click()
  await expect(page).toHaveURL(/\/views\/[0-9a-f-]+\?look=chart$/)
  await expect(page.locator('.figure svg').first()).toBeVisible()
  await page.getByRole('link', { name: 'Map', exact: true }).click()
  await expect(page.locator('.map-columns')).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^[\d,]+ projects in this View$/)

  // The builder offers the workspace's fields.
  await page.getByRole('link', { name: 'Table' }).click()
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.keyboard.type('Our status')
  await expect(page.getByRole('option', { name: /^Our status/ })).toBeVisible()
  await remove(view)
})

test('failed Views explain the error', async ({ page }) => {
  await enter(page)
  await page.route('**/workspace/views?*', (route) =>
    route.fulfill({
      status: 503,
      headers: { 'X-Request-Id': 'request-1', 'Retry-After': '0' },
      json: { error: { code: 'unavailable', message: 'away' } },
    }),
  )
  await page.getByRole('link', { name: 'Views' }).click()
  const alert = page.getByRole('main').getByRole('alert')
  await expect(alert.getByRole('heading', { name: 'Atlas cannot answer right now' })).toBeVisible()
  await page.unroute('**/workspace/views?*')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expect(alert).toHaveCount(0)
})

everywhere(() => {
  test('book and Views pass axe', async ({ page }) => {
    const list = await create(unique('Axe list'))
    const records = await firms(3)
    await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
      inputs: records.map((r) => ({ record_id: r.id })),
    })
    await call('POST', '/workspace/favorite-views/upsert', { view_id: list.id })
    await enter(page, '/book/accounts')
    expect(await findings(page)).toEqual([])
    await page.goto('/views')
    await expect(page.getByRole('table')).toBeVisible()
    await expect(page.getByRole('complementary').getByRole('link', { name: list.name })).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'New list' }).click()
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await expect(page.getByRole('button', { name: 'New list' })).toBeFocused()
    await page.goto(`/views/${list.id}`)
    await page.getByRole('button', { name: /^Show 3 rows/ }).click()
    await expect(page.getByRole('grid')).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.getByRole('row').last().press('Control+a')
    await expect(page.getByRole('region', { name: 'Selected rows' })).toContainText('3 selected')
    expect(await findings(page)).toEqual([])
    await page.getByRole('button', { name: 'Set status, add tags…' }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.goto('/projects?stage=filed&unknown=sqft')
    await counted(page)
    await page.getByRole('button', { name: 'Save as View' }).click()
    await expect(page.getByText(/^The search finds/)).toBeVisible()
    expect(await findings(page)).toEqual([])
    await remove(list)
  })
})
