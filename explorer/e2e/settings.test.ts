import type { BrowserContext, Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { enter, expect, link, service, test, userWith } from './service'
import { call } from './workspace'

const fresh = () => `new.${Date.now()}.${Math.floor(Math.random() * 1e6)}@people.example`
const person = (page: Page, text: string) => page.getByRole('listitem').filter({ hasText: text })

/** settings opens a section as somebody, by default the owner. */
async function settings(page: Page, section: string, email?: string): Promise<void> {
  await page.goto(link(email))
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto(`/settings/${section}`)
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
}

/** signIn ends when the session has begun: another page that is opened earlier would stop it. */
async function signIn(page: Page, email: string): Promise<void> {
  const begun = page.waitForResponse((r) => r.url().endsWith('/session') && r.request().method() === 'POST')
  await page.goto(link(email))
  await begun
}

/** invited invites an address and returns the link. */
async function invited(page: Page, email: string): Promise<string> {
  await page.getByRole('textbox', { name: 'E-mail address' }).fill(email)
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await expect(page.getByText(`${email} is invited.`)).toBeVisible()
  return page.getByRole('textbox', { name: 'Link of the invitation' }).inputValue()
}

/** opened opens the link of an invitation in another browser, and records what is requested. */
async function opened(context: BrowserContext, address: string) {
  const page = await context.newPage()
  const requested: string[] = []
  page.on('request', (r) => requested.push(r.url(), r.headers().referer ?? ''))
  await page.goto(address)
  return { page, requested }
}

test('somebody is invited, joins, gets another role and is removed', async ({ page, browser }) => {
  await settings(page, 'members')
  const email = fresh()
  const address = await invited(page, email)
  const token = new URLSearchParams(new URL(address).hash.slice(1)).get('token') ?? ''
  expect(address.startsWith(`${new URL(page.url()).origin}/invitations#token=`) && token.length > 40).toBe(true)
  await expect(person(page, email)).toContainText('until')
  await page.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('textbox', { name: 'Link of the invitation' })).toBeHidden()
  // A second invitation explains how to get another link.
  await page.getByRole('textbox', { name: 'E-mail address' }).fill(email)
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await expect(page.getByRole('alert')).toContainText('invited already')

  // Not signed in yet: after signing in the invitation is still there.
  const context = await browser.newContext()
  const { page: theirs, requested } = await opened(context, address)
  await expect(theirs.getByText('You are invited to a workspace. Sign in')).toBeVisible()
  expect(theirs.url()).not.toContain(token)
  await theirs.goto(link(email))
  const name = service().workspaces[0]?.name ?? ''
  await expect(theirs.getByRole('heading', { name: `Join ${name}` })).toBeVisible()
  const details = theirs.locator('dl.invitation')
  await expect(details).toContainText(userWith('owner'))
  await expect(details).toContainText('RoleMember')
  await expect(details).toContainText(/Open until\w+ \d/)
  expect(await findings(theirs)).toEqual([])
  await theirs.getByRole('button', { name: 'Accept' }).click()
  await theirs.getByRole('button', { name: 'Open the workspace' }).click()
  await expect(theirs.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  expect(requested.filter((r) => r.includes(token))).toEqual([])
  expect(await theirs.evaluate(() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]))).not.toContain(token)
  // A link works once.
  await theirs.goto(address)
  await expect(theirs.getByRole('heading', { name: 'This invitation is not open any more' })).toBeVisible()
  // It does not return after a reload or after going back.
  await theirs.reload()
  await expect(theirs.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await theirs.goBack()
  await expect(theirs.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  // A member sees people, and cannot change them.
  await theirs.goto('/settings/members')
  await expect(person(theirs, email)).toContainText('Member')
  expect(await theirs.getByRole('button', { name: /^Remove/ }).count()).toBe(0)
  await expect(theirs.getByText('Owners and admins change who that is.')).toBeVisible()

  await page.reload()
  const role = person(page, email).getByRole('combobox')
  await role.selectOption('admin')
  await expect(page.getByText('is an admin now')).toBeVisible()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(role).toHaveValue('member')
  // Changing the role of an admin ends the keys that they created, so it needs confirmation.
  await role.selectOption('admin')
  await expect(role).toBeEnabled()
  await expect(role).toHaveValue('admin')
  await role.selectOption('member')
  await expect(page.getByRole('dialog')).toContainText('The API keys that they made end')
  await page.getByRole('dialog').getByRole('button', { name: 'Make a member' }).click()
  await expect(role).toHaveValue('member')
  await person(page, email)
    .getByRole('button', { name: /^Remove/ })
    .click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('loses access within five seconds')
  expect(await findings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await expect(person(page, email)).toBeVisible()
  await person(page, email)
    .getByRole('button', { name: /^Remove/ })
    .click()
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await expect(person(page, email)).toHaveCount(0)
  await expect
    .poll(async () => {
      await theirs.goto('/settings/members')
      await theirs.getByRole('heading').first().waitFor()
      return theirs.getByRole('heading', { name: 'Members' }).count()
    })
    .toBe(0)
  await context.close()
})

test('nobody removes themselves, or the only owner', async ({ page }) => {
  await settings(page, 'members')
  const owner = person(page, userWith('owner'))
  await expect(owner).toContainText('You')
  await expect(owner.getByRole('combobox')).toBeDisabled()
  await expect(owner.getByRole('button', { name: /^Remove/ })).toBeDisabled()
  await expect(page.getByText('You are the only owner')).toBeVisible()
  await settings(page, 'members', userWith('admin'))
  await expect(person(page, userWith('owner')).getByRole('combobox')).toBeDisabled()
  const mine = person(page, userWith('admin'))
  await expect(mine.getByRole('button', { name: /^Remove/ })).toBeDisabled()
  await expect(mine.getByRole('option', { name: 'Owner' })).toBeDisabled()
})

test('a new link replaces the previous one, and a revoked one is explained', async ({ page, browser }) => {
  await settings(page, 'members')
  const email = fresh()
  const first = await invited(page, email)
  // A failure loses nothing.
  const requests: string[] = []
  await page.route('**/workspace/invitations**', (route) => {
    const method = route.request().method()
    if (method !== 'GET') requests.push(method)
    return method === 'POST' ? route.abort() : route.continue()
  })
  await page.getByRole('button', { name: `New link for ${email}` }).click()
  await expect(page.getByRole('alert')).toBeVisible()
  await expect(person(page, email)).toBeVisible()
  expect(requests).toEqual(['POST'])
  await page.unroute('**/workspace/invitations**')
  await page.getByRole('button', { name: `New link for ${email}` }).click()
  const input = page.getByRole('textbox', { name: 'Link of the invitation' })
  await expect(input).not.toHaveValue(first)
  const second = await input.inputValue()
  const context = await browser.newContext()
  const theirs = await context.newPage()
  await signIn(theirs, email)
  await theirs.goto(first)
  await expect(theirs.getByText('only the latest one works')).toBeVisible()
  expect(await findings(theirs)).toEqual([])
  await page.getByRole('button', { name: `Revoke the invitation of ${email}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect(person(page, email)).toHaveCount(0)
  await theirs.goto(second)
  await expect(theirs.getByRole('heading', { name: 'This invitation is not open any more' })).toBeVisible()
  await context.close()
})

test('another account than the invited one, and a member already', async ({ page, browser }) => {
  await settings(page, 'members')
  const email = fresh()
  const address = await invited(page, email)
  const context = await browser.newContext()
  const theirs = await context.newPage()
  await signIn(theirs, userWith('member'))
  await theirs.goto(address)
  await expect(theirs.getByRole('heading', { name: 'This invitation is for another address' })).toBeVisible()
  await expect(theirs.getByText(service().workspaces[0]?.name ?? '')).toHaveCount(0)
  await expect(theirs.getByText(`You are signed in as ${userWith('member')}`)).toBeVisible()
  await theirs.getByRole('button', { name: 'Use another account' }).click()
  await expect(theirs.getByText('You are invited to a workspace. Sign in')).toBeVisible()
  await theirs.goto(link(email))
  await theirs.route('**/invitations/accept', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'already_member', message: 'no' } } }),
  )
  await theirs.getByRole('button', { name: 'Accept' }).click()
  await expect(theirs.getByRole('heading', { name: 'You are a member already' })).toBeVisible()
  await context.close()
  await page.getByRole('button', { name: `Revoke the invitation of ${email}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await expect(person(page, email)).toHaveCount(0)
})

test('alerts are saved at once and can be undone', async ({ page }) => {
  await settings(page, 'subscriptions')
  const follow = page.getByRole('checkbox', { name: /^Permit issued/i })
  await expect(page.getByRole('checkbox').first()).toBeVisible()
  if (await follow.isChecked()) {
    await follow.click()
    await expect(follow).not.toBeChecked()
  }
  await follow.click()
  const how = page.getByRole('group', { name: /^Alerts of Permit issued/i })
  await expect(how.getByRole('checkbox', { name: 'In the app' })).toBeChecked()
  // The last way cannot be removed.
  await expect(how.getByRole('checkbox', { name: 'In the app' })).toBeDisabled()
  await how.getByRole('checkbox', { name: 'E-mail' }).click()
  await expect(how.getByRole('checkbox', { name: 'E-mail' })).toBeChecked()
  await how.getByRole('combobox').selectOption('weekly')
  await expect(how.getByRole('combobox')).toHaveValue('weekly')
  // The requested value is shown until it is saved.
  await expect(page.locator('ul[aria-busy]')).toHaveAttribute('aria-busy', 'false')
  await page.reload()
  await expect(how.getByRole('combobox')).toHaveValue('weekly')
  await expect(how.getByRole('checkbox', { name: 'E-mail' })).toBeChecked()
  await follow.click()
  await expect(how).toBeHidden()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(how.getByRole('combobox')).toHaveValue('weekly')
  await follow.click()
  await expect(how).toBeHidden()
})

test('two quick changes of an alert are both saved', async ({ page }) => {
  const type = 'permit_expired'
  const path = '/workspace/signal-subscriptions'
  const delivery = { channels: ['in_app'], frequency: 'instant' }
  await call('POST', `${path}/upsert`, { signal_type: type, delivery })
  await settings(page, 'subscriptions')
  const how = page.getByRole('group', { name: 'Alerts of Permit expired' })
  const email = how.getByRole('checkbox', { name: 'E-mail' })
  await expect(email).not.toBeChecked()
  // The answer to the first request arrives after the second was sent.
  let answer = () => {}
  const second = new Promise<void>((resolve) => (answer = resolve))
  await page.route('**/signal-subscriptions/upsert*', async (route) => {
    await second
    await route.continue()
  })
  await email.click()
  await how.getByRole('combobox').selectOption('weekly')
  answer()
  const storedDelivery = async () =>
    (await call<{ subscriptions: { signal_type: string; delivery: object }[] }>('GET', path)).subscriptions.find(
      (s) => s.signal_type === type,
    )?.delivery
  await expect.poll(storedDelivery).toMatchObject({ channels: ['in_app', 'email'], frequency: 'weekly' })
  await expect(email).toBeChecked()
  await expect(how.getByRole('combobox')).toHaveValue('weekly')
  await page.getByRole('checkbox', { name: /^Permit expired/ }).click()
  await expect(how).toBeHidden()
})

test('usage and the credits meter show what was charged', async ({ page }) => {
  await enter(page, '/projects?q=garage')
  const meter = page.getByRole('button', { name: /what was used$/ })
  await meter.click()
  await expect(page.getByText('Nothing was paid yet')).toBeVisible()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByText(/^25 of/)).toBeVisible()
  await page.getByRole('button', { name: /^Show 25 more/ }).click()
  await expect(page.getByText(/^50 of/)).toBeVisible()
  await meter.click()
  await expect(page.getByRole('listitem').filter({ hasText: 'Rows of projects' })).toContainText('50')
  expect(await findings(page)).toEqual([])
  await page.getByRole('link', { name: 'All usage of the workspace' }).click()
  await expect(page).toHaveURL('/settings/usage')
  const { base_url, workspaces } = service()
  const response = await fetch(`${base_url}/data/usage`, {
    headers: { Authorization: `Bearer ${workspaces[0]?.api_key}` },
  })
  const { data } = (await response.json()) as {
    data: { used_credits: number; by_tool: Record<string, number>; by_hour: object[] }
  }
  const number = (n: number | undefined) => (n ?? 0).toLocaleString('en-US')
  await expect(page.getByText('Used', { exact: true }).locator('..')).toContainText(number(data.used_credits))
  await expect(page.getByRole('listitem').filter({ hasText: 'Rows of projects' })).toContainText(
    number(data.by_tool.search_projects),
  )
  await expect(page.getByRole('img', { name: /^Credits by hour/ })).toBeVisible()
  await page.getByText('As a table').click()
  await expect(page.getByRole('row')).toHaveCount(data.by_hour.length + 1)
})

test('hostile names are escaped', async ({ page }) => {
  const names = ['<img src=x onerror="document.title=1">', 'long '.repeat(4000), 'شركة البناء 123', '😀\u202Ereversed']
  await settings(page, 'members')
  await page.route('**/workspace/members?*', async (route) => {
    const response = await route.fetch()
    const body = (await response.json()) as { data: { members: object[] } }
    const [member] = body.data.members
    body.data.members.push(
      ...names.map((name, i) => ({ ...member, role: 'member', name, id: `00000000-0000-4000-8000-00000000000${i}` })),
    )
    await route.fulfill({ response, json: body })
  })
  await page.reload()
  for (const name of names) await expect(page.getByText(name.trim(), { exact: true }).first()).toBeAttached()
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle('Members · Atlas')
})

everywhere((width) => {
  test('settings are accessible', async ({ page }) => {
    await settings(page, 'members')
    await expect(page.getByRole('list', { name: 'Members' })).toBeVisible()
    const email = fresh()
    await invited(page, email)
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.getByRole('button', { name: `Revoke the invitation of ${email}` }).click()
    expect(await findings(page)).toEqual([])
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    for (const [section, shown] of [
      ['Signal alerts', page.getByRole('checkbox').first()],
      ['Usage', page.getByText('Used', { exact: true })],
    ] as const) {
      await page.getByRole('link', { name: section }).click()
      await expect(shown).toBeVisible()
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    }
  })

  test('an invitation is accessible', async ({ page, browser }) => {
    await settings(page, 'members')
    const email = fresh()
    const address = await invited(page, email)
    const dark = await page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)
    const context = await browser.newContext({
      viewport: { width, height: 844 },
      colorScheme: dark ? 'dark' : 'light',
    })
    const theirs = await context.newPage()
    await signIn(theirs, email)
    await theirs.goto(address)
    await expect(theirs.getByRole('heading', { name: /^Join / })).toBeVisible()
    expect(await findings(theirs)).toEqual([])
    expect(await theirs.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await theirs.screenshot({ path: `test-results/invitation-${width}-${dark ? 'dark' : 'light'}.png` })
    await context.close()
    await page.getByRole('button', { name: `Revoke the invitation of ${email}` }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await expect(person(page, email)).toHaveCount(0)
  })
})
