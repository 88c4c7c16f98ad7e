import { readFileSync } from 'node:fs'
import { everywhere, findings } from './axe'
import { enter, expect, test, used } from './service'

test('a pivot is configured, clicked and saved, for free', async ({ page }) => {
  await enter(page, '/projects')
  const before = await used()
  await page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name: 'Pivot' }).click()
  await expect(page).toHaveURL('/projects?look=pivot')
  await expect(page.getByRole('table', { name: /^Projects by .* and year of/ })).toBeVisible()
  // The latest years are visible.
  await expect(page.getByRole('columnheader').last()).toBeInViewport()
  await page.getByLabel('Rows', { exact: true }).selectOption('stage')
  await page.getByLabel('Columns', { exact: true }).selectOption('city')
  await page.getByLabel('Show').selectOption({ label: 'Median cost' })
  await expect(page).toHaveURL('/projects?look=pivot&by=stage&across=city&of=median:cost')
  await expect(page.getByRole('heading', { level: 2, name: 'Median cost of projects by stage and city' })).toBeVisible()
  await page.getByLabel('Show').selectOption({ label: 'Count' })
  const completed = page.getByRole('row', { name: /^Completed/ })
  await expect(completed).toBeVisible()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV' }).click(),
  ])
  expect(download.suggestedFilename()).toBe('projects-by-stage-and-city.csv')
  expect(readFileSync(await download.path(), 'utf8')).toMatch(/^Stage,City,Count\nCompleted,/)
  // A cell links to its records, the number of which it shows.
  const cell = completed.getByRole('link').nth(1)
  const count = await cell.textContent()
  await cell.click()
  await expect(page).toHaveURL(/\/projects\?(stage=completed&city=[^&]+)&look=pivot/)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(`${count} projects`)
  await page.goBack()
  await page.getByRole('button', { name: 'Bars' }).click()
  await expect(page.getByRole('img', { name: 'Projects by stage and city' })).toBeVisible()
  expect(await used()).toBe(before)
})

everywhere((width) => {
  test('a pivot has no findings of axe', async ({ page }, info) => {
    await enter(page, '/projects?look=pivot&by=primary_use&across=permitted_at:year&of=sum:cost')
    await expect(page.getByRole('table')).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.screenshot({ path: info.outputPath(`pivot-${width}.png`) })
    if (process.env.ATLAS_PICTURES)
      await page.screenshot({
        path: `${process.env.ATLAS_PICTURES}/pivot-table-${width}-${info.project.name}-${info.titlePath.join('').includes('dark')}.png`,
      })
    await page.getByRole('button', { name: 'Bars' }).click()
    await expect(page.getByRole('img', { name: / and / })).toBeVisible()
    expect(await findings(page)).toEqual([])
    if (process.env.ATLAS_PICTURES)
      await page.screenshot({
        path: `${process.env.ATLAS_PICTURES}/pivot-bars-${width}-${info.titlePath.join('').includes('dark')}.png`,
      })
    // The page does not scroll sideways.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})
