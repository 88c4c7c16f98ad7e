import { findings } from './axe'
import { baseURL, counted, expect, service, test } from './service'

const key = service().workspaces[0]?.api_key ?? ''

test('an API key signs in, and the page does not store it', async ({ page }) => {
  await page.goto(`${baseURL()}/projects`)
  const input = page.getByLabel('paste an API key')
  await input.fill('not a key')
  await input.press('Enter')
  await expect(page.getByRole('alert')).toHaveText('This is not an API key.')
  await expect(input).toHaveValue('')
  await input.fill(key)
  await input.press('Enter')
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await counted(page)
  const storage = await page.evaluate(
    () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]) + document.body.outerHTML,
  )
  expect(storage).not.toContain(key)
  await page.reload()
  await counted(page)
  await page.getByRole('button', { name: 'Signed in as API key' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(input).toBeVisible()
})

test('a user without access can sign out', async ({ page }) => {
  await page.goto(baseURL())
  const input = page.getByLabel('paste an API key')
  await input.fill(service().workspaces.find((w) => w.plan === 'free')?.api_key ?? '')
  await input.press('Enter')
  await expect(page.getByRole('alert')).toContainText('plan is free')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await expect(input).toBeVisible()
})

for (const width of [1440, 390]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test.describe(`${width} px, ${colorScheme}`, () => {
      test.use({ viewport: { width, height: 844 }, colorScheme })
      test('the field is accessible', async ({ page }) => {
        await page.goto(baseURL())
        await page.getByLabel('paste an API key').press('x')
        await page.keyboard.press('Enter')
        await expect(page.getByRole('alert')).toBeVisible()
        expect(await findings(page)).toEqual([])
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/key-${width}-${colorScheme}.png` })
      })
    })
  }
}
