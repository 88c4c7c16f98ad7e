import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { Installation } from './provider'
import { expect as anyExpect, service, test } from './service'

// Each test signs in, over several pages of two servers.
const expect = anyExpect.configure({ timeout: 30_000 })

let installation: Installation
const [one = '', two = ''] = service().workspaces.map((w) => w.id)

test.beforeAll(async () => {
  installation = await Installation.start()
})
test.afterAll(async () => {
  await installation.stop()
})
test.beforeEach(async ({ page }) => {
  // The provider's own pages have a font of another host.
  await page.route('**/fonts.googleapis.com/**', (route) => route.abort())
})

test.setTimeout(120_000)

const signInLink = (page: Page) => page.getByRole('link', { name: 'Sign in', exact: true })
const open = (page: Page, address = '/') => page.goto(installation.origin + address)

/** entered waits for the page of the signed-in user. */
async function entered(page: Page): Promise<void> {
  await expect(page.getByRole('button', { name: /^Signed in as/ })).toBeVisible()
}

/** signIn signs in at the provider. */
async function signIn(page: Page, login: string): Promise<void> {
  await signInLink(page).click()
  await page.getByPlaceholder('Enter any login').fill(login)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Signed in as/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

test('sign in, return to the address, and sign out at the provider too', async ({ page, context }) => {
  const ann = await installation.member('Ann', [one])
  const address = '/projects?q=garage&stage=permitted&sort=cost:desc'
  await open(page, address)
  await signIn(page, ann.login)
  await entered(page)
  expect(page.url()).toBe(installation.origin + address)
  await page.getByRole('button', { name: 'Signed in as Ann' }).click()
  await expect(page.getByText(ann.email)).toBeVisible()
  await page.keyboard.press('Escape')

  // One cookie, which scripts cannot read, and nothing in the browser's storage.
  const cookies = (await context.cookies(installation.origin)).filter((c) => c.name.startsWith('__Host-atlas'))
  expect(cookies).toMatchObject([{ name: '__Host-atlas', httpOnly: true, secure: true, sameSite: 'Lax', path: '/' }])
  const stored = await page.evaluate(() => JSON.stringify([document.cookie, localStorage, sessionStorage]))
  expect(stored).not.toContain(cookies[0]?.value)

  await page.reload()
  await entered(page)
  await signOut(page)
  await page.getByRole('button', { name: /yes/i }).click()
  await expect(signInLink(page)).toBeVisible()
  expect(page.url()).toBe(`${installation.origin}/`)
  // The provider has ended Ann's session, and the cookie is gone.
  await signInLink(page).click()
  await expect(page.getByPlaceholder('Enter any login')).toBeVisible()
  await context.addCookies(cookies)
  await open(page)
  await expect(signInLink(page)).toBeVisible()
})

test('the sign-in of a workspace is found by the domain of an e-mail address', async ({ page }) => {
  await open(page)
  await page.getByLabel('Or use the sign-in of your workspace').fill('ann@nowhere.example')
  const answered = page.waitForResponse((r) => r.url().endsWith('/session/provider'))
  await page.getByRole('button', { name: 'Continue' }).click()
  expect((await answered).status()).toBe(200)
  await expect(page.getByRole('alert')).toHaveText('No workspace has a sign-in of its own for this domain.')
  await expect(signInLink(page)).toBeVisible()
  // A workspace without a provider redirects back to the page, with the reason.
  await open(page, `/session/sign-in?workspace=${one}`)
  await expect(page.getByRole('alert')).toBeVisible()
})

test('a user without a workspace, and after joining one', async ({ page }) => {
  const ben = installation.person('Ben')
  await open(page)
  await signIn(page, ben.login)
  await expect(page.getByRole('heading', { name: 'You are not in a workspace yet' })).toBeVisible()
  await installation.add(one, ben, (await page.locator('code').textContent()) ?? '')
  await page.getByRole('button', { name: 'Try again' }).click()
  await entered(page)
})

test('a member is removed while the page is open', async ({ page }) => {
  const dan = await installation.member('Dan', [one, two])
  await open(page, `/projects?workspace=${one}`)
  await signIn(page, dan.login)
  await entered(page)
  // Servers follow a removal within 5 s.
  const status = () => page.evaluate(async (id) => (await fetch(`/api/v1/workspace?workspace_id=${id}`)).status, one)
  await installation.remove(one, dan.email)
  await expect.poll(status).toBe(403)
  await page.getByRole('link', { name: /^Firms \d/ }).click()
  await expect(page.getByRole('heading', { name: 'You are not in this workspace' })).toBeVisible()
  // A user without any membership is signed out.
  await installation.remove(two, dan.email)
  await expect.poll(status).toBe(401)
  await page.reload()
  await expect(signInLink(page)).toBeVisible()
})

test('an address that the provider has not verified opens nothing', async ({ page }) => {
  const eve = installation.person('Eve', false)
  await installation.add(one, eve)
  await open(page)
  await signIn(page, eve.login)
  await expect(page.getByRole('heading', { name: 'You are not in a workspace yet' })).toBeVisible()
})

test('the provider refuses the sign-in', async ({ page }) => {
  await open(page, '/accounts?q=x')
  await signInLink(page).click()
  await page.getByRole('link', { name: /cancel/i }).click()
  await expect(page.getByRole('alert')).toHaveText('Signing in was cancelled, or your organization did not allow it.')
  expect(page.url()).toBe(`${installation.origin}/accounts?q=x`)
  await expect(signInLink(page)).toHaveAttribute('href', '/session/sign-in?return=%2Faccounts%3Fq%3Dx')
})

test('redirects to other sites and old answers are refused', async ({ page }) => {
  const cleo = await installation.member('Cleo', [one])
  let callback = ''
  page.on('request', (r) => {
    if (r.url().includes('/session/callback')) callback = r.url()
  })
  await open(page)
  await signInLink(page).evaluate((a) => {
    a.setAttribute('href', '/session/sign-in?return=//evil.example/x')
  })
  await signIn(page, cleo.login)
  await entered(page)
  expect(page.url()).toBe(`${installation.origin}/`)
  await signOut(page)
  await page.getByRole('button', { name: /yes/i }).click()
  await page.goto(callback)
  await expect(page.getByRole('alert')).toContainText('This sign-in took too long')
})

test('two workspaces, each in its address', async ({ page, context }) => {
  const fay = await installation.member('Fay', [one, two])
  const short = (id: string) => id.slice(-8)
  await open(page, `/accounts?q=build&workspace=${short(two)}`)
  await signIn(page, fay.login)
  await entered(page)
  const switcher = page.getByRole('navigation', { name: 'Workspaces' })
  await page.getByRole('button', { name: 'Signed in as Fay' }).click()
  await expect(switcher.getByRole('link', { name: 'Workspace 2' })).toHaveAttribute('aria-current', 'true')
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: /^Projects/ }).click()
  await entered(page)
  expect(new URL(page.url()).searchParams.get('workspace')).toBe(short(two))
  // So do links that are opened in another tab or copied.
  const links = page.locator('a[href^="/"]:not([href^="/docs"]):not(.workspaces a)')
  const hrefs = await links.evaluateAll((all) => all.map((a) => a.getAttribute('href') ?? ''))
  expect(hrefs.length).toBeGreaterThan(10)
  expect(hrefs.filter((href) => !href.endsWith(`workspace=${short(two)}`))).toEqual([])
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Views', exact: true }).click({ modifiers: ['ControlOrMeta'] }),
  ])
  await expect(tab.getByRole('link', { name: 'Atlas, Workspace 2' })).toBeVisible()
  await tab.close()

  // Another tab opens the last workspace and switches to the other. This one does not change.
  const other = await context.newPage()
  await open(other, '/projects?stage=filed')
  await entered(other)
  await expect(other).toHaveURL(`${installation.origin}/projects?stage=filed&workspace=${short(two)}`)
  await other.getByRole('button', { name: 'Signed in as Fay' }).click()
  await other.getByRole('link', { name: 'Workspace 1' }).click()
  await expect(other.getByRole('link', { name: 'Atlas, Workspace 1' })).toBeVisible()
  await page.reload()
  await expect(page.getByRole('link', { name: 'Atlas, Workspace 2' })).toBeVisible()

  await open(page, '/projects?workspace=00000000')
  await expect(page.getByRole('heading', { name: 'You are not in this workspace' })).toBeVisible()
  await switcher.getByRole('link', { name: 'Workspace 1' }).click()
  await expect(page.getByRole('link', { name: 'Atlas, Workspace 1' })).toBeVisible()
})

test('the session ends in another tab, and is resumed', async ({ page, context }) => {
  const gil = await installation.member('Gil', [one])
  await open(page, '/projects')
  await signIn(page, gil.login)
  await entered(page)
  await context.clearCookies({ name: '__Host-atlas' })
  // A request in progress may have noticed it already, so that the dialog is open.
  await page.getByRole('link', { name: /^Signals/, includeHidden: true }).dispatchEvent('click')
  const over = page.getByRole('dialog', { name: 'Your session is over' })
  await expect(over).toBeVisible()
  const [tab] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Sign in in a new tab' }).click(),
  ])
  await entered(tab) // the provider still knows Gil
  await page.getByRole('button', { name: 'I have signed in' }).click()
  await entered(page)
  await expect(over).toBeHidden()
})

everywhere(() => {
  test('is accessible', async ({ page }) => {
    const hal = await installation.member('Hal', [one, two])
    await open(page, '/#sign-in-failed=away')
    await expect(page.getByRole('alert')).toBeVisible()
    expect(await findings(page)).toEqual([])
    await signIn(page, hal.login)
    await entered(page)
    // Until the filters are loaded, nothing in their column gets the focus.
    await expect(page.locator('.rail .skeleton')).toHaveCount(0)
    await page.getByRole('button', { name: 'Signed in as Hal' }).click()
    expect(await findings(page)).toEqual([])
    await open(page, '/projects?workspace=00000000')
    await expect(page.getByRole('heading', { name: 'You are not in this workspace' })).toBeVisible()
    expect(await findings(page)).toEqual([])
  })
})
