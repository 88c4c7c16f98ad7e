import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { answered, binary, expect, link, service, test, userWith } from './service'
import { call } from './workspace'

const workspace = service().workspaces[0]
const hostile = '<img src=x onerror=alert(1)>\u202e'
const fresh = () => `firm-${Date.now().toString(36)}${Math.floor(Math.random() * 1e6)}.example`

// The tests change the settings of one workspace, one after the other.
const clear = async () => {
  await call('DELETE', '/workspace/identity/provider')
  const all = await call<{ domains: { domain: string }[] }>('GET', '/workspace/identity/domains')
  for (const { domain } of all.domains) await call('DELETE', `/workspace/identity/domains/${domain}`)
}
test.beforeEach(clear)
test.afterAll(clear)

async function open(page: Page, email?: string): Promise<void> {
  await page.goto(link(email))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/sign-in')
  await expect(page.getByRole('heading', { level: 1, name: 'Sign-in' })).toBeVisible()
}

test('a domain is added, proved and deleted', async ({ page }) => {
  await open(page)
  await expect(page.getByText('There is no domain yet.')).toBeVisible()
  const name = page.getByRole('textbox', { name: 'Domain', exact: true })
  const add = page.getByRole('button', { name: 'Add a domain' })
  await name.fill(hostile)
  await Promise.all([answered(page, '/identity/domains'), add.click()])
  await expect(page.getByRole('alert')).toContainText('The domain is not added')
  await expect(page.getByRole('alert')).toContainText('must be a domain of e-mail addresses, such as firm.example')
  const domain = fresh()
  await name.fill(domain.toUpperCase())
  await Promise.all([answered(page, '/identity/domains'), add.click()])
  const row = page.getByRole('listitem', { name: domain })
  await expect(row).toContainText('not proved')
  await expect(row.getByRole('textbox', { name: `Name of the text record of ${domain}` })).toHaveValue(
    `_atlas.${domain}`,
  )
  await expect(row.getByRole('textbox', { name: `Text of the record of ${domain}` })).toHaveValue(
    /^atlas-domain=\w{20,}$/,
  )

  // Unanswered look-ups do not count as a missing record.
  await page.route('**/check?*', (route) =>
    route.fulfill({
      status: 503,
      json: { error: { code: 'unavailable', message: 'DNS does not answer; try again later' } },
    }),
  )
  await Promise.all([answered(page, '/check'), row.getByRole('button', { name: 'Check now' }).click()])
  await expect(row.getByRole('alert')).toContainText('Atlas cannot answer right now')
  await page.unroute('**/check?*')
  // A browser need not let a page copy.
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))
  })
  const copy = row.getByRole('button', { name: `Copy: Text of the record of ${domain}` })
  await copy.click()
  await expect(page.getByText('Select the text and copy it by hand.')).toBeVisible()
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.resolve()
  })
  await copy.click()
  await expect(row.getByRole('button', { name: `Copied: Text of the record of ${domain}` })).toBeVisible()

  // An operator proves it: then there is no record to publish.
  execFileSync(join(dirname(binary), 'atlas'), [
    'identity',
    'domains',
    'prove',
    `--workspace=${workspace?.id}`,
    `--postgres-system-url=${service().postgres_system_url}`,
    domain,
  ])
  await page.reload()
  await expect(row).toContainText('proved by the operator')
  await expect(row.getByRole('textbox')).toHaveCount(0)
  await row.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('Nobody signs in with an address of')
  await Promise.all([answered(page, domain, 'DELETE'), dialog.getByRole('button', { name: 'Delete' }).click()])
  await expect(row).toBeHidden()
  await expect(page.getByText('The domain is deleted')).toBeVisible()
})

test('a provider is connected, changed and deleted, and only its own users can require it', async ({ page }) => {
  let dialogs = 0
  page.on('dialog', (d) => {
    dialogs++
    void d.dismiss()
  })
  await open(page)
  await expect(page.getByText('There is no provider yet')).toBeVisible()
  await expect(page.getByRole('textbox', { name: 'Redirect address' })).toHaveValue(
    new RegExp(`/session/callback/${workspace?.id}$`),
  )
  await page.getByRole('button', { name: 'Connect a provider' }).click()
  const form = page.getByRole('form', { name: 'Provider' })
  const save = form.getByRole('button', { name: 'Save the provider' })
  const saved = () => Promise.all([answered(page, '/identity/provider'), save.click()])
  await form.getByLabel('Issuer').fill('http://login.firm.example')
  await form.getByLabel('Client id').fill(hostile)
  await form.getByLabel('Client secret').fill('a secret of the provider')
  await form.getByLabel('Claim that says the roles').fill('groups')
  await form.getByLabel('Value 1 of the claim').fill(`${hostile} chiefs`)
  await form.getByLabel('Role of value 1').selectOption('Admin')
  await form.getByRole('button', { name: 'Another value' }).click()
  await form.getByLabel('Value 2 of the claim').fill('all')
  await form.getByLabel('Who gets in').selectOption('Everybody of the domains, as a member')
  await saved()
  await expect(page.getByRole('alert')).toContainText('The provider is not saved')
  await expect(page.getByRole('alert')).toContainText('Issuer: must begin with https://')
  await form.getByLabel('Issuer').fill('https://login.firm.example')
  await saved()
  await expect(form).toBeHidden()
  const section = page.getByRole('region', { name: 'Provider', exact: true })
  await expect(section).toContainText('https://login.firm.example')
  await expect(section).toContainText(`by the claim groups (${hostile} chiefs: admin, all: member)`)
  await expect(section).toContainText('joins as a member')
  await expect(section).toContainText('12 hours at most, 60 minutes after the last request')
  await expect(section).toContainText('No domain is proved')
  // The secret is not readable later.
  await page.reload()
  await expect(section).toContainText('Not required.')
  expect(await page.content()).not.toContain('a secret of the provider')

  // Only changed values change, without the secret; another client needs one.
  await section.getByRole('button', { name: 'Change the provider' }).click()
  await expect(form.getByLabel('Client secret')).toHaveValue('')
  await form.getByLabel('Client id').fill('other')
  expect(await form.getByLabel('Client secret').evaluate((e: HTMLInputElement) => e.required)).toBe(true)
  await form.getByLabel('Client id').fill(hostile)
  expect(await form.getByLabel('Client secret').evaluate((e: HTMLInputElement) => e.required)).toBe(false)
  await form.getByLabel('Minutes until an idle session ends').fill('30')
  await saved()
  await expect(section).toContainText('12 hours at most, 30 minutes after the last request')
  await expect(section).toContainText('all: member')
  // Somebody else changed it meanwhile: nothing is overwritten silently.
  await section.getByRole('button', { name: 'Change the provider' }).click()
  await call('POST', '/workspace/identity/provider', {
    issuer: 'https://login.firm.example',
    client_id: 'theirs',
    client_secret: 's',
  })
  await saved()
  await expect(page.getByRole('alert')).toContainText('The provider was changed since: read it again')
  await page.reload()
  await expect(section).toContainText('theirs')

  // The effect of requiring it is shown first, and it does not lock out the user.
  await section.getByRole('button', { name: 'Require it' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('every other session and access token of this workspace is refused')
  await Promise.all([answered(page, '/identity/provider'), dialog.getByRole('button', { name: 'Require it' }).click()])
  await expect(dialog.getByRole('alert')).toContainText('It is not required')
  await expect(dialog.getByRole('alert')).toContainText('Only who signed in by this provider may require it')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(section).toContainText('Not required.')

  await section.getByRole('button', { name: 'Delete the provider' }).click()
  await Promise.all([answered(page, '/provider', 'DELETE'), dialog.getByRole('button', { name: 'Delete' }).click()])
  await expect(page.getByText('There is no provider yet')).toBeVisible()
  await expect(page.getByText('The provider is deleted')).toBeVisible()
  expect(dialogs).toBe(0)
})

test('admins see the provider and prove domains, members see neither', async ({ page }) => {
  await call('POST', '/workspace/identity/provider', {
    issuer: 'https://login.firm.example',
    client_id: 'atlas',
    client_secret: 's',
  })
  await open(page, userWith('admin'))
  await expect(page.getByRole('region', { name: 'Provider', exact: true })).toContainText('https://login.firm.example')
  await expect(page.getByRole('button', { name: 'Add a domain' })).toBeVisible()
  for (const name of ['Change the provider', 'Require it', 'Delete the provider'])
    await expect(page.getByRole('button', { name })).toHaveCount(0)
  const requests: string[] = []
  page.on('request', (r) => {
    if (r.url().includes('/workspace/identity')) requests.push(r.url())
  })
  await open(page, userWith('member'))
  await expect(page.getByText('Owners and admins see it and set it up.')).toBeVisible()
  await expect(page.getByRole('region')).toHaveCount(0)
  expect(requests).toEqual([])
})

const at = '2026-02-14T09:30:00.000Z'
const domain = (name: string, more: object) => ({
  domain: name,
  record_name: `_atlas.${name}`,
  record_text: 'atlas-domain=4q2vhxg7k2m3n4p5q6r7s8t9uv',
  proved_at: null,
  proved_by: null,
  checked_at: null,
  failing_since: null,
  created_at: at,
  ...more,
})
const required = {
  issuer: `https://login.${'a-long-name.'.repeat(8)}example`,
  client_id: hostile,
  scopes: ['openid', 'email', 'profile', 'offline_access'],
  required: true,
  role_claim: 'groups',
  roles: { chiefs: 'owner', all: 'member' },
  default_role: null,
  session_hours: 8,
  idle_minutes: 30,
  revision: 4,
  created_at: at,
  updated_at: at,
  updated_by: null,
}

/** settings serves domains in each state, and a provider that is required. */
async function settings(page: Page): Promise<object[]> {
  const set: object[] = []
  await page.route('**/workspace/identity/domains?*', (route) =>
    route.fulfill({
      json: {
        data: {
          domains: [
            domain('new.example', {}),
            domain('looked-for.example', { checked_at: at }),
            domain('proved.example', { proved_at: at, proved_by: 'dns', checked_at: at }),
            domain('failing.example', { proved_at: at, proved_by: 'dns', checked_at: at, failing_since: at }),
            domain('operator.example', { proved_at: at, proved_by: 'operator' }),
          ],
        },
        metadata: { credits: 0 },
      },
    }),
  )
  await page.route('**/workspace/identity/provider?*', (route) => {
    if (route.request().method() === 'POST') set.push(route.request().postDataJSON() as object)
    return route.fulfill({
      json: {
        data: { provider: required, redirect_uri: 'https://atlas.example/session/callback/x' },
        metadata: { credits: 0 },
      },
    })
  })
  return set
}

test('a provider is no longer required, and its other settings are unchanged', async ({ page }) => {
  const set = await settings(page)
  await open(page)
  const section = page.getByRole('region', { name: 'Provider', exact: true })
  await expect(section).toContainText('Required.')
  await section.getByRole('button', { name: 'Require it no longer' }).click()
  const dialog = page.getByRole('dialog')
  await Promise.all([
    answered(page, '/identity/provider'),
    dialog.getByRole('button', { name: 'Require it no longer' }).click(),
  ])
  await expect(dialog).toBeHidden()
  const { created_at, updated_at, updated_by, default_role, ...unchanged } = required
  expect([created_at, updated_at, updated_by, default_role]).toEqual([at, at, null, null])
  expect(set).toEqual([{ ...unchanged, required: false }])
  const failing = page.getByRole('listitem', { name: 'failing.example' })
  await expect(failing).toContainText('the domain is lost after three days')
  await expect(failing.getByRole('textbox')).toHaveCount(2)
  await expect(page.getByRole('listitem', { name: 'proved.example' }).getByRole('textbox')).toHaveCount(0)
})

everywhere((width) => {
  test('the sign-in of a workspace has no findings of axe', async ({ page, colorScheme }) => {
    await settings(page)
    await open(page)
    const look = async (name: string) => {
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      if (process.env.ATLAS_PICTURES)
        await page.screenshot({
          path: `${process.env.ATLAS_PICTURES}/${name}-${width}-${colorScheme}.png`,
          fullPage: true,
        })
    }
    await expect(page.getByText('Required.')).toBeVisible()
    await look('sign-in')
    await page.getByRole('button', { name: 'Require it no longer' }).click()
    await look('sign-in-required')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Change the provider' }).click()
    await page.getByRole('form', { name: 'Provider' }).scrollIntoViewIfNeeded()
    await look('sign-in-form')
  })
})
