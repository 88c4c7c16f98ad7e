import { counted, enter, expect, test, used } from './service'
import { findings } from './axe'

test('a value that is suggested becomes a filter, which is free', async ({ page }) => {
  await enter(page)
  const before = await used()
  const box = page.getByRole('combobox', { name: 'Search projects' })
  await box.fill('calg')
  const list = page.getByRole('listbox', { name: 'Suggestions' })
  const city = list.getByRole('option', { name: /^City is Calgary/ })
  await expect(city).toBeVisible()
  await expect(box).toHaveAttribute('aria-expanded', 'true')
  await box.press('ArrowDown')
  await expect(city).toHaveAttribute('aria-selected', 'true')
  await expect(box).toHaveAttribute('aria-activedescendant', (await city.getAttribute('id')) ?? '')
  await box.press('Enter')
  await expect(page).toHaveURL(/^[^?]*\/projects\?city=Calgary$/)
  await expect(box).toHaveValue('')
  await expect(box).toBeFocused()
  await expect(list).toBeHidden()
  await expect(page.getByRole('main')).toContainText('City is Calgary')
  expect(await used()).toBe(before)
})

test('a name that is suggested opens its record for a credit, once', async ({ page }) => {
  await enter(page, '/accounts')
  const before = await used()
  const box = page.getByRole('combobox', { name: 'Search firms' })
  // With a typo.
  await box.fill('trumna')
  const option = page.getByRole('group', { name: /^Open a firm 1 credit/ }).getByRole('option')
  await expect(option.first()).toBeVisible()
  const name = (await option.first().locator('.name').textContent()) ?? ''
  expect(await used()).toBe(before)
  await option.first().click()
  await expect(page.locator('.drawer').getByRole('heading', { level: 2 }).first()).toHaveText(name)
  await expect(box).toHaveValue(name)
  await expect(page.getByRole('status').filter({ hasText: '−1' })).toBeVisible()
  expect(await used()).toBe(before + 1)
  // One firm is one row, and one month nothing to drag over.
  await expect(page.getByRole('button', { name: 'Show 1 row · 1 credit', exact: true })).toBeVisible()
  await expect(page.getByText('Drag over the bars')).toHaveCount(0)
  await page.getByRole('button', { name: 'Close the record' }).click()
  await box.fill('truman')
  await expect(option.first()).toContainText(name)
  await option.first().click()
  await expect(page.locator('.drawer').getByRole('heading', { level: 2 }).first()).toHaveText(name)
  expect(await used()).toBe(before + 1)
})

test('Enter without a choice searches, and Escape closes the list first', async ({ page }) => {
  await enter(page)
  const box = page.getByRole('combobox', { name: 'Search projects' })
  const list = page.getByRole('listbox', { name: 'Suggestions' })
  await box.fill('garage')
  await expect(list).toBeVisible()
  await box.press('ArrowDown')
  await box.press('ArrowUp')
  await expect(list.locator('[aria-selected=true]')).toHaveCount(0)
  await box.press('Escape')
  await expect(list).toBeHidden()
  await expect(box).toHaveValue('garage')
  await box.press('ArrowDown')
  await expect(list).toBeVisible()
  await box.press('Enter')
  await expect(page.getByRole('grid')).toBeVisible()
  await expect(list).toBeHidden()
  await expect(page).toHaveURL('/projects?q=garage')
  await box.press('Escape')
  await expect(page).toHaveURL('/projects')
})

test('the list passes axe, and the free limit leaves it out', async ({ page }) => {
  await enter(page)
  const box = page.getByRole('combobox', { name: 'Search projects' })
  const list = page.getByRole('listbox', { name: 'Suggestions' })
  await box.fill('garage')
  await expect(list).toBeVisible()
  await box.press('ArrowDown')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect(await findings(page)).toEqual([])
  }
  let requests = 0
  await page.route('**/suggest*', (route) => {
    requests++
    return route.fulfill({
      status: 429,
      headers: { 'Retry-After': '1' },
      json: { error: { code: 'too_many_requests' } },
    })
  })
  const refused = page.waitForResponse('**/suggest*')
  await box.fill('house')
  await refused
  await expect(list).toBeHidden()
  await expect(page.getByRole('alert')).toHaveCount(0)
  await counted(page)
  expect(requests).toBe(1)
})

test('suggestions are escaped', async ({ page }) => {
  await enter(page)
  const names = ['<img src=x onerror="document.title=1">', 'x'.repeat(20_000), 'شركة البناء \u202E123']
  await page.route('**/suggest*', (route) =>
    route.fulfill({
      json: {
        data: { suggestions: names.map((value, i) => ({ field: 'name', value, id: `0000-${i}`, count: 1 })) },
        metadata: { credits: 0 },
      },
    }),
  )
  await page.getByRole('combobox', { name: 'Search projects' }).fill('garage')
  const option = page.getByRole('listbox').getByRole('option')
  await expect(option).toHaveCount(3)
  for (const [i, name] of names.entries()) {
    await expect(option.nth(i).locator('.name')).toHaveText(name)
    expect((await option.nth(i).boundingBox())?.height).toBe(32)
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle(/ · Atlas$/)
})

test('a text without matches is replaced by a similar one, which is shown', async ({ page }) => {
  const before = await used()
  await enter(page, '/projects?q=garrage&stage=completed')
  const instead = page.locator('.did-you-mean')
  await expect(instead).toContainText('Showing results for garage; nothing for “garrage”')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^[1-9]/)
  // The typed text stays, and can be searched.
  await expect(page.getByRole('combobox', { name: 'Search projects' })).toHaveValue('garrage')
  await instead.getByRole('button', { name: 'Search only for “garrage”' }).click()
  await expect(page.getByRole('heading', { name: 'No projects match' })).toBeVisible()
  await page.getByRole('button', { name: 'garage', exact: true }).click()
  await expect(page).toHaveURL('/projects?q=garage&stage=completed')
  await expect(page.getByRole('heading', { level: 1 })).not.toHaveText(/^0 /)
  expect(await used()).toBe(before)
})

test('rows highlight matches, in any form', async ({ page }) => {
  await enter(page, '/projects?q=detached+garages')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  const first = page.getByRole('grid').locator('[data-index="0"]')
  await expect(first.locator('mark').first()).toHaveText('Detached')
  await expect(first.locator('mark').nth(1)).toHaveText('Garage')
})
