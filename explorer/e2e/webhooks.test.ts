import { findings } from './axe'
import { expect, link, service, test } from './service'

const workspace = () => service().workspaces[0]
const hooks = () => `${service().base_url}/workspace/webhooks`
const headers = () => ({ Authorization: `Bearer ${workspace()?.api_key}` })

test('a webhook is added, tested, rotated and deleted', async ({ page }) => {
  const address = `https://hooks.invalid/atlas-${Date.now()}`
  await page.goto(link())
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/webhooks')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Webhooks')
  // An address that is not public is refused, with the reason.
  await page.getByRole('textbox', { name: 'Address of the webhook' }).fill('https://169.254.169.254/')
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  await expect(page.getByRole('alert')).toContainText('not a public one')
  await page.getByRole('textbox', { name: 'Address of the webhook' }).fill(address)
  await page.getByRole('checkbox', { name: 'Signals arrive' }).first().check()
  await page.getByRole('button', { name: 'Add a webhook' }).click()
  const secret = page.getByRole('textbox', { name: 'Secret of the webhook' })
  await expect(secret).toHaveValue(/^whsec_/)
  const first = await secret.inputValue()
  await page.getByRole('button', { name: 'Done' }).click()
  const hook = page.getByRole('listitem', { name: address })
  await expect(hook.getByText('Enabled')).toBeVisible()
  await expect(hook.getByRole('checkbox', { name: 'Signals arrive' })).toBeChecked()
  expect(await findings(page)).toEqual([])

  // The choice of events is saved at once.
  await hook.getByRole('checkbox', { name: 'All records are loaded anew' }).click()
  await expect(page.getByText('The webhook is saved')).toBeVisible()
  const { data } = (await (await fetch(hooks(), { headers: headers() })).json()) as {
    data: { webhooks: { url: string; events: string[] }[] }
  }
  expect(data.webhooks.find((h) => h.url === address)?.events).toContain('load.switched')

  await hook.getByRole('button', { name: 'Send a test' }).click()
  const log = hook.getByRole('list', { name: 'Deliveries, the newest first' })
  await expect(log.getByText('webhook.test')).toBeVisible()
  // The name does not resolve, so the delivery is retried.
  await expect(log.getByText('no response, again')).toBeVisible({ timeout: 30_000 })
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  await page.setViewportSize({ width: 1280, height: 800 })

  await hook.getByRole('button', { name: 'New secret' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click()
  await expect(secret).toHaveValue(/^whsec_/)
  expect(await secret.inputValue()).not.toBe(first)
  await page.reload()
  await expect(hook).toBeVisible()
  await expect(secret).toBeHidden()
  await hook.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await expect(page.getByText('The webhook is deleted')).toBeVisible()
  await expect(hook).toBeHidden()
})

test('a member sees no webhooks', async ({ page }) => {
  await page.goto(link(workspace()?.users.find((u) => u.role === 'member')?.email ?? ''))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/webhooks')
  await expect(page.getByText('Owners and admins see and change them.')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Add a webhook' })).toBeHidden()
})
