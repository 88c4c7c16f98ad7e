import { findings } from './axe'
import { expect, link, service, test, userWith } from './service'

const call = (secret: string) =>
  fetch(`${service().base_url}/workspace/webhooks`, { headers: { Authorization: `Bearer ${secret}` } })

test('a key is created, shown once, rotated and revoked', async ({ page }) => {
  const name = `<img src=x onerror=alert(1)> ${Date.now()}`
  await page.goto(link())
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/keys')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('API keys')
  await page.getByRole('textbox', { name: 'Name of the key' }).fill(name)
  await page.getByRole('checkbox', { name: 'Read the workspace' }).check()
  await page.getByRole('textbox', { name: 'Only from these networks' }).fill('10.0.0.1/8')
  await page.getByRole('button', { name: 'Make a key' }).click()
  await expect(page.getByRole('alert')).toContainText('the network is 10.0.0.0/8')
  await page.getByRole('textbox', { name: 'Only from these networks' }).fill('127.0.0.0/8, ::1')
  await page.getByRole('combobox', { name: 'How long it lives' }).selectOption('30 days')
  await page.getByRole('button', { name: 'Make a key' }).click()
  const secret = page.getByRole('textbox', { name: 'Secret of the key' })
  await expect(secret).toHaveValue(/^atlas_k1_[0-9A-Za-z]{71}$/)
  const first = await secret.inputValue()
  expect((await call(first)).status).toBe(200)
  expect(await findings(page)).toEqual([])
  await page.getByRole('button', { name: 'Done' }).click()
  const key = page.getByRole('listitem', { name })
  await expect(key.getByText(`${first.slice(0, 31)}…`)).toBeVisible()
  await expect(key).toContainText('It may data:read, workspace:read, from 127.0.0.0/8, ::1/128 only')
  await expect(key).toContainText(/ends /)
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await page.setViewportSize({ width: 1280, height: 800 })

  await key.getByRole('button', { name: 'New secret' }).click()
  await page.getByRole('dialog').getByRole('combobox').selectOption('no longer: it leaked')
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click()
  await expect(secret).toHaveValue(/^atlas_k1_/)
  const second = await secret.inputValue()
  expect(second).not.toBe(first)
  expect((await call(second)).status).toBe(200)
  expect((await call(first)).status).toBe(403)
  // The secret is not readable later.
  await page.reload()
  await expect(key).toBeVisible()
  await expect(secret).toBeHidden()
  await key.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect(key.getByText(/^revoked /)).toBeVisible()
  await expect(key.getByRole('button', { name: 'Revoke' })).toBeHidden()
  expect((await call(second)).status).toBe(403)
})

test('a member sees no keys', async ({ page }) => {
  await page.goto(link(userWith('member')))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/keys')
  await expect(page.getByText('Owners and admins see and make them.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Make a key' })).toBeHidden()
})

test('an admin sets the policy of keys', async ({ page }) => {
  await page.goto(link())
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/keys')
  const policy = page.getByRole('region', { name: 'What keys may be' })
  const set = (response: { url: () => string; request: () => { method: () => string } }) =>
    response.url().includes('/api-keys/policy') && response.request().method() === 'POST'
  await policy.getByRole('button', { name: 'Limit what keys may be' }).click()
  await policy.getByRole('checkbox', { name: 'Act as an admin' }).click()
  await policy.getByRole('spinbutton', { name: 'days' }).fill('45')
  await Promise.all([page.waitForResponse(set), policy.getByRole('button', { name: 'Save the limits' }).click()])
  await expect(policy).toContainText(
    'New keys must have no scopes but data:read, workspace:read, workspace:write, and end within 45 days.',
  )
  await page.getByRole('textbox', { name: 'Name of the key' }).fill('Too long')
  await page.getByRole('combobox', { name: 'How long it lives' }).selectOption('a year')
  await page.getByRole('button', { name: 'Make a key' }).click()
  await expect(page.getByRole('alert')).toContainText('end within 45 days')
  await expect(
    page.getByRole('listitem').filter({ hasText: 'Outside of what the workspace permits' }).first(),
  ).toBeVisible()
  expect(await findings(page)).toEqual([])
  // The next test finds the workspace as it was.
  await policy.getByRole('button', { name: 'Limit what keys may be' }).click()
  await policy.getByRole('checkbox', { name: 'Act as an admin' }).click()
  await policy.getByRole('spinbutton', { name: 'days' }).fill('')
  await Promise.all([page.waitForResponse(set), policy.getByRole('button', { name: 'Save the limits' }).click()])
  await expect(policy).toContainText('New keys may be of any kind.')
})
