import { enter, expect, test, used } from './service'
import { remove, unique } from './workspace'

test('rows are added to a list, each with its result, and removed', async ({ page }) => {
  const name = unique('Shortlist')
  await enter(page, '/accounts')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  let release = () => {}
  const escaped = new Promise<void>((resolve) => (release = resolve))
  // One of the firms is deleted meanwhile.
  await page.route('**/records/add/batch*', async (route) => {
    await escaped
    const response = await route.fetch()
    const body = (await response.json()) as { data: { results: object[] } }
    if (body.data.results.length > 1) {
      const error = { code: 'record_not_found', message: 'no such firm' }
      body.data.results[3] = { ...body.data.results[3], status: 'record_not_found', error }
    }
    await route.fulfill({ response, json: body })
  })
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).check()
  await page.getByRole('button', { name: 'Add to a list…' }).click()
  await page.getByLabel('A new list').check()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('button', { name: 'Add 25 firms' }).click()
  const dialog = page.getByRole('dialog', { name: `Add to “${name}”` })
  // It stays open while it adds.
  await expect(dialog).toContainText('0 of 25 firms done')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await expect(dialog).toContainText('0 of 25 firms done')
  release()
  await expect(dialog).toContainText('24 firms are in the list now')
  await expect(dialog).toContainText('1 firm: no longer in the dataset')
  await expect(dialog).toContainText('The list has 25 firms')
  await dialog.getByRole('link', { name: 'Open the list' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('25 firms in this View')
  expect(await used()).toBe(before)

  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await page.getByRole('row').nth(1).click()
  const first = (await page.locator('.drawer h2').first().textContent()) ?? ''
  await page.getByRole('button', { name: 'Remove from this list' }).click()
  await page.getByRole('button', { name: 'Remove 1 firm' }).click()
  await expect(page.getByText(`1 firm removed from “${name}”`)).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('24 firms in this View')
  await expect(page.getByRole('row').nth(1)).not.toContainText(first)
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('25 firms in this View')
  // The row is already paid for.
  await expect(page.getByRole('row').nth(1)).toContainText(first)

  // Adding existing records reports that.
  await page.getByRole('button', { name: 'Add to a list' }).click()
  await page.getByRole('dialog').getByLabel(name).check()
  await page.getByRole('button', { name: 'Add 1 firm' }).click()
  await expect(page.getByText(`It was in “${name}” already`)).toBeVisible()
  const id = page.url().split('/views/')[1]?.split('/')[0] ?? ''
  await remove({ id, name })
})
