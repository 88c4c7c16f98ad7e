import { enter, expect, link, service, test, used } from './service'

const admin = service().workspaces[0]?.users.find((u) => u.role === 'admin')?.email

test('another tab signs in another user: this page sends no request as that user', async ({ page, context }) => {
  await enter(page, '/accounts?projects_count=20..')
  await page.getByRole('button', { name: /^Show \d+ rows/ }).click()
  await page.getByRole('row').nth(1).getByRole('link').click()
  await page.getByRole('button', { name: /^Show status/ }).click()
  const status = page.getByLabel('Status')
  await expect(status).toBeVisible()
  const before = await used()

  const other = await context.newPage()
  // Until the link is used the previous user is signed in.
  const as = (role: string) => other.getByRole('button', { name: new RegExp(`^Signed in as ${role}`) })
  await other.goto(link(admin))
  await expect(as('admin')).toBeVisible()
  await status.fill('typed')
  await status.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Another tab has signed somebody else in' })
  await expect(dialog).toBeVisible()
  await expect(status).toHaveValue('typed')
  expect(await used()).toBe(before)

  // The user returns: everything is still there.
  await other.goto(link())
  await expect(as('owner')).toBeVisible()
  await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
  await expect(dialog).toBeHidden()
  await expect(status).toHaveValue('typed')

  await other.goto(link(admin))
  await expect(as('admin')).toBeVisible()
  const name = await as('admin').getAttribute('aria-label')
  await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
  await dialog.getByRole('button', { name: /^Open this page as/ }).click()
  await expect(page.getByRole('button', { name: name ?? '' })).toBeVisible()
})
