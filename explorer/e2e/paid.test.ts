import { enter, expect, test, used } from './service'

const search = '/projects?stage=under_construction&primary_use=multifamily&cost=1000000..&sort=cost:desc'

test('rows are charged once in a browser: not in another tab, nor by an export', async ({ page, context }) => {
  await enter(page, search)
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  const loaded = page.getByText(/^(\d+) of \1 loaded$/)
  await expect(loaded).toHaveAttribute('title', /^Read at /)
  const count = Number((await loaded.textContent())?.split(' ')[0])
  const before = await used()

  const other = await context.newPage()
  await other.goto(search)
  await expect(other.getByText(`${count} of ${count} loaded`)).toBeVisible()
  await other.getByRole('columnheader', { name: 'Cost' }).getByRole('button').click()
  await expect(other.getByText('arranged here for nothing')).toBeVisible()
  await other.getByRole('link', { name: /^Export/ }).click()
  const download = other.waitForEvent('download')
  await other.getByRole('button', { name: `Export ${count} rows · 0 credits` }).click()
  await download
  await expect(other.getByText('Complete.')).toBeVisible()
  expect(await used()).toBe(before)

  // None of it is stored on the disk.
  expect(await other.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain('"cost"')
  // Signing out deletes it.
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(page.getByRole('heading', { name: 'Sign in to Atlas' })).toBeVisible()
  await enter(page, search)
  await expect(page.getByRole('button', { name: /^Show \d+ rows/ })).toBeVisible()
})
