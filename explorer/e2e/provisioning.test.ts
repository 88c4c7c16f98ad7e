import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { answered, baseURL, binary, expect, link, service, test, userWith } from './service'
import { call } from './workspace'

const workspace = service().workspaces[0]
const hostile = '<img src=x onerror=alert(1)>'

async function open(page: Page, email?: string): Promise<void> {
  await page.goto(link(email))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/provisioning')
  await expect(page.getByRole('heading', { level: 1, name: 'Provisioning' })).toBeVisible()
}

/** scim sends requests as the identity provider does. */
const scim = (token: string, method: string, path: string, body?: object) =>
  fetch(`${baseURL()}/scim/v2${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/scim+json' },
    ...(body && { body: JSON.stringify(body) }),
  })

test('a token is created, shown once and revoked, and provisioned people are listed', async ({ page }) => {
  let dialogs = 0
  page.on('dialog', (d) => {
    dialogs++
    void d.dismiss()
  })
  const unique = `${Date.now().toString(36)}${Math.floor(Math.random() * 1e6)}`
  const domain = `scim-${unique}.example`
  execFileSync(join(dirname(binary), 'atlas'), [
    'identity',
    'domains',
    'prove',
    `--workspace=${workspace?.id}`,
    `--postgres-system-url=${service().postgres_system_url}`,
    domain,
  ])
  await open(page)
  await expect(page.getByRole('textbox', { name: 'Base address' })).toHaveValue(`${baseURL()}/scim/v2`)
  const name = `${hostile} ${unique}`
  await page.getByRole('textbox', { name: 'Name of the token' }).fill(name)
  await page.getByLabel('How long the token lives').selectOption('90 days')
  await Promise.all([answered(page, '/scim/tokens'), page.getByRole('button', { name: 'Make a token' }).click()])
  const text = page.getByRole('textbox', { name: 'Text of the token' })
  await expect(text).toHaveValue(/^atlas_s1_/)
  const token = await text.inputValue()
  const row = page.getByRole('listitem', { name })
  await expect(row).toContainText('never used')
  await expect(row).toContainText(/ends /)
  await page.reload()
  await expect(row).toContainText(`${token.slice(0, 20)}`)
  await expect(text).toHaveCount(0)
  expect(await page.content()).not.toContain(token)

  // The provider adds a person, and a group.
  const made = await scim(token, 'POST', '/Users', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    userName: `mia@${domain}`,
    displayName: `${hostile} Mia`,
    active: true,
  })
  expect(made.status).toBe(201)
  const { id } = (await made.json()) as { id: string }
  const group = await scim(token, 'POST', '/Groups', {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Group'],
    displayName: `${hostile} chiefs ${unique}`,
    members: [{ value: id }],
  })
  expect(group.status).toBe(201)
  const groupId = ((await group.json()) as { id: string }).id
  await page.reload()
  await expect(row).toContainText('used ')
  const person = page
    .getByRole('list', { name: 'Provisioned people' })
    .getByRole('listitem')
    .filter({ hasText: domain })
  await expect(person).toContainText(`${hostile} Mia`)
  await expect(person).toContainText('a member when they first sign in')
  const role = page.getByRole('combobox', { name: `Role of the group ${hostile} chiefs ${unique}` })
  await expect(role).toHaveValue('none')
  const dialog = page.getByRole('dialog')
  // The effect is shown first.
  await role.selectOption('admins')
  await expect(dialog).toContainText('Change the role of 1 person?')
  await expect(dialog).toContainText(`${hostile} chiefs ${unique}: Its people are admins`)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(role).toHaveValue('none')
  await role.selectOption('admins')
  await Promise.all([answered(page, groupId), dialog.getByRole('button', { name: 'Change the role' }).click()])
  await expect(dialog).toBeHidden()
  await page.reload()
  await expect(role).toHaveValue('admin')

  await row.getByRole('button', { name: 'Revoke' }).click()
  await expect(dialog).toContainText('adds and takes away nobody any more')
  await Promise.all([answered(page, '/scim/tokens/', 'DELETE'), dialog.getByRole('button', { name: 'Revoke' }).click()])
  await expect(row).toContainText(/revoked /)
  await expect(row.getByRole('button', { name: 'Revoke' })).toHaveCount(0)
  // The service's cache of tokens expires within 5 s.
  await expect.poll(async () => (await scim(token, 'GET', '/Users')).status, { timeout: 15_000 }).toBe(401)
  await call('DELETE', `/workspace/identity/domains/${domain}`)
  expect(dialogs).toBe(0)
})

const at = '2026-02-14T09:30:00.000Z'
const person = (n: number, more: object = {}) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  user_name: `p${n}@firm.example`,
  external_id: null,
  name: `Person ${n}`,
  email: `p${n}@firm.example`,
  state: 'pending',
  user_id: null,
  role: null,
  removal_refused_at: null,
  created_at: at,
  updated_at: at,
  ...more,
})

/** serve answers with people of each state, a hundred in a page, and with nothing else. */
async function serve(page: Page, people: object[]): Promise<void> {
  await page.route('**/workspace/identity/scim/people?*', (route) => {
    const offset = Number(new URL(route.request().url()).searchParams.get('offset'))
    return route.fulfill({ json: { data: { people: people.slice(offset, offset + 100) }, metadata: {} } })
  })
  await page.route('**/workspace/identity/scim/groups?*', (route) =>
    route.fulfill({ json: { data: { groups: [] }, metadata: {} } }),
  )
  await page.route('**/workspace/identity/scim/tokens?*', (route) =>
    route.fulfill({ json: { data: { tokens: [] }, metadata: {} } }),
  )
  await page.route('**/workspace/identity/domains?*', (route) =>
    route.fulfill({ json: { data: { domains: [] }, metadata: {} } }),
  )
}

test('empty lists explain the first step, and errors are explained', async ({ page }) => {
  await serve(page, [])
  await open(page)
  await expect(page.getByText('No domain is proved yet.')).toBeVisible()
  await expect(page.getByText('There is no token yet.')).toBeVisible()
  await expect(page.getByText('The provider has added nobody yet.')).toBeVisible()
  await expect(page.getByText('There is no group yet.')).toBeVisible()
  expect(await findings(page)).toEqual([])
  await page.route('**/workspace/identity/scim/tokens?*', (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({
          status: 409,
          json: {
            error: { code: 'limit_reached', message: 'a workspace has at most 10 tokens of SCIM: revoke one first' },
          },
        })
      : route.fallback(),
  )
  await page.getByRole('textbox', { name: 'Name of the token' }).fill('Okta')
  await page.getByRole('button', { name: 'Make a token' }).click()
  await expect(page.getByRole('alert')).toContainText('No token was made')
  await expect(page.getByRole('alert')).toContainText('revoke one first')
  await page.getByRole('link', { name: 'prove yours first' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sign-in' })).toBeVisible()
})

test('many people are paged, each with their state', async ({ page }) => {
  const states = [
    person(0, { state: 'member', role: 'admin' }),
    person(1, { state: 'inactive' }),
    person(2, { state: 'removed' }),
    person(3, { state: 'member', role: 'owner', removal_refused_at: at }),
  ]
  await serve(page, [...states, ...Array.from({ length: 120 }, (_, i) => person(i + 4))])
  await open(page)
  const items = page.getByRole('list', { name: 'Provisioned people' }).getByRole('listitem')
  await expect(items).toHaveCount(100)
  await expect(items.nth(0)).toContainText('admin')
  await expect(items.nth(1)).toContainText('taken away by the provider')
  await expect(items.nth(2)).toContainText('removed here by an owner or admin')
  await expect(items.nth(3)).toContainText('The last owner: the provider asked to take them away')
  await page.getByRole('button', { name: 'Show more people' }).click()
  await expect(items).toHaveCount(124)
  await expect(page.getByRole('button', { name: 'Show more people' })).toHaveCount(0)
})

test('members see no provisioning', async ({ page }) => {
  await open(page, userWith('member'))
  await expect(page.getByText('Owners and admins see it and set it up.')).toBeVisible()
  await expect(page.getByRole('textbox')).toHaveCount(0)
})

everywhere((width) => {
  test('provisioning has no findings of axe', async ({ page, colorScheme }) => {
    const made = await call<{ token: { id: string } }>('POST', '/workspace/identity/scim/tokens', {
      name: `${'A name that is long '.repeat(4)}${hostile}`,
    })
    await serve(page, [
      person(0, { state: 'member', role: 'owner', removal_refused_at: at }),
      person(1, { name: 'N'.repeat(120), email: `${'n'.repeat(90)}@firm.example` }),
    ])
    await page.unroute('**/workspace/identity/scim/tokens?*')
    await open(page)
    await expect(page.getByText('The last owner')).toBeVisible()
    await expect(page.getByRole('list', { name: 'Tokens' })).toBeVisible()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    if (process.env.ATLAS_PICTURES)
      await page.screenshot({ path: `${process.env.ATLAS_PICTURES}/provisioning-${width}-${colorScheme}.png` })
    await call('DELETE', `/workspace/identity/scim/tokens/${made.token.id}`)
  })
})
