import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { everywhere, findings } from './axe'
import { enter, expect, newFolder, service, test, used } from './service'
import { call } from './workspace'

interface Project {
  id: string
  name: string
  account_ids: string[]
}
interface Contact {
  name: string
  role: string
}

const address = '/projects?stage=permitted&cost=3000000..&sort=cost:desc'
const body = {
  filters: { stage: { value: ['permitted'] }, cost: { value: [3_000_000, null] } },
  sort: { field: 'cost', order: 'desc' },
  limit: 100,
}
const firmsOf = (projects: Project[]) => new Set(projects.flatMap((p) => p.account_ids.slice(0, 3)))

const command = join(process.env.ATLAS_DEV ?? '../bin/atlas-dev', '..', 'atlas')

test('rows name the firms of projects for a price that is shown first, once', async ({ page }) => {
  const projects = await call<Project[]>('POST', '/data/projects/search', { ...body, limit: 25 })
  const firms = firmsOf(projects)
  expect(firms.size).toBeGreaterThan(5)
  const [first] = projects
  const [firm] = await Promise.all(
    (first?.account_ids ?? []).slice(0, 1).map((id) => call<{ name: string }>('GET', `/data/accounts/${id}`)),
  )
  await enter(page, address)
  await page.getByRole('button', { name: /^Show \d+ rows?/ }).click()
  const cell = page.getByRole('row').nth(1).locator('[data-key=account_ids]')
  await expect(cell).toHaveText(/^\d firms?$/)
  const before = await used()
  const button = page.getByRole('button', { name: `Name ${firms.size} firms · ${firms.size} credits` })
  await button.click()
  await expect(cell).toContainText(firm?.name ?? 'no name')
  await expect(button).toHaveCount(0)
  expect(await used()).toBe(before + firms.size)

  // The drawer shows its name for free, and links to it.
  await page.getByRole('row').nth(1).getByRole('link').click()
  const named = page.locator('.drawer .named')
  await expect(named.first()).toContainText(firm?.name ?? '')
  await named.first().getByRole('link').first().click()
  await expect(page.locator('.drawer').getByRole('heading', { level: 2 })).toHaveText(firm?.name ?? '')
  expect(await used()).toBe(before + firms.size)
})

test('a file names firms, the same as of the command line', async ({ page }) => {
  const { base_url, workspaces } = service()
  const out = join(newFolder(), 'out.csv')
  const options = ['--filter', 'stage=permitted', '--filter', 'cost=3000000..', '--sort', 'cost:desc', '--names']
  execFileSync(
    command,
    ['export', 'projects', ...options, '--out', out, '--url', base_url, '--api-key', workspaces[0]?.api_key ?? ''],
    { stdio: 'pipe' },
  )
  const projects = await call<Project[]>('POST', '/data/projects/search', body)
  const people = new Set((projects as unknown as { contact_ids: string[] }[]).flatMap((p) => p.contact_ids.slice(0, 3)))
  await enter(page, `/export${address}`)
  await page.getByRole('checkbox', { name: /^For people/ }).uncheck()
  await page.getByRole('checkbox', { name: /^Names of firms and people/ }).check()
  const before = await used()
  const begin = page.getByRole('button', { name: /^Export \d+ rows · up to \d+ credits$/ })
  const [download] = await Promise.all([page.waitForEvent('download'), begin.click()])
  await expect(page.locator('main [role=status]')).toHaveText('Complete.')
  const file = readFileSync(await download.path(), 'utf8')
  expect(file).toBe(readFileSync(out, 'utf8'))
  expect(file.split('\n')[0]).toMatch(/,account_names,contact_names$/)
  expect(await used()).toBe(before + projects.length + firmsOf(projects).size + people.size)

  // For people, names take the place of ids.
  await page.goto(`/export${address}`)
  await page.getByRole('checkbox', { name: /^Names of firms and people/ }).check()
  const [second] = await Promise.all([page.waitForEvent('download'), begin.click()])
  const head = readFileSync(await second.path(), 'utf8').split('\n')[0]
  expect(head).toMatch(/^Project,Stage,Use,Cost,Firms,/)
  expect(head).not.toContain('account_ids')
})

test('firms have a column of the person whom one calls', async ({ page }) => {
  const search = { filters: { projects_count: { value: [20, null] } }, limit: 25 }
  const [first] = await call<{ account: { id: string; name: string }; contact: Contact | null }[]>(
    'POST',
    '/data/accounts/join',
    { ...search, sort: { field: 'projects_count', order: 'desc' } },
  )
  await enter(page, '/accounts?projects_count=20..&sort=projects_count:desc&cols=name,person_to_call,city')
  await page.getByRole('button', { name: /^Show \d+ rows?/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  const button = page.getByRole('button', { name: /^Name whom to call at \d+ firms · up to \d+ credits$/ })
  const most = Number(/(\d+) firms/.exec((await button.textContent()) ?? '')?.[1])
  await button.click()
  const row = page.getByRole('row').nth(1)
  await expect(row).toContainText(first?.account.name ?? '')
  await expect(row.locator('[data-key=person_to_call]')).toHaveText(first?.contact?.name ?? 'nobody is known')
  await expect(button).toHaveCount(0)
  const paid = (await used()) - before
  const found = await page.locator('.grid-body [data-key=person_to_call]:not(:has(.quiet))').count()
  expect(paid).toBe(found)
  expect(paid).toBeLessThanOrEqual(most)
})

everywhere((width) => {
  test('names in rows and in the drawer', async ({ page }) => {
    // A card has the first four columns.
    await enter(page, width < 760 ? `${address}&cols=name,stage,cost,account_ids` : address)
    await page.getByRole('button', { name: /^Show \d+ rows?/ }).click()
    await expect(page.getByRole('button', { name: /^Name \d+ firms/ })).toBeVisible()
    expect(await findings(page)).toEqual([])
    await page.screenshot({ path: `test-results/names-before-${width}.png` })
    await page.getByRole('button', { name: /^Name \d+ firms/ }).click()
    await expect(page.getByRole('button', { name: /^Name \d+ firms/ })).toHaveCount(0)
    await page.screenshot({ path: `test-results/names-rows-${width}.png` })
    await page
      .getByRole('row')
      .nth(width < 760 ? 1 : 2)
      .click()
    await expect(page.locator('.drawer .named').first()).toBeVisible()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
    await page.screenshot({ path: `test-results/names-drawer-${width}.png` })
  })
})
