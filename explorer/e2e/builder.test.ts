import { execFileSync } from 'node:child_process'
import { dirname, resolve } from 'node:path'
import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { counted, enter, expect, service, test, used } from './service'

const builder = (page: Page) => page.getByRole('dialog', { name: 'Filter' })
const fields = (page: Page) => page.getByRole('combobox', { name: 'Fields' })
const values = (page: Page) => page.getByRole('combobox', { name: 'Values' })
const chip = (page: Page, name: string | RegExp) => page.locator('.chip').getByRole('button', { name, exact: true })

/** pick chooses the first field that a text finds. */
async function pick(page: Page, text: string): Promise<void> {
  await fields(page).fill(text)
  await fields(page).press('Enter')
}

/** ask sends a request of the API with the key of the first workspace. */
async function ask<T>(path: string, body: unknown): Promise<T> {
  const { base_url, workspaces } = service()
  const response = await fetch(`${base_url}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${workspaces[0]?.api_key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as T
}

const count = async (dataset: string, body: object) =>
  (await ask<{ data: { count: number } }>(`/data/${dataset}/search`, { ...body, dry_run: true })).data.count

/** showsCount waits until the page shows how many records a request matches. */
async function showsCount(page: Page, dataset: string, body: object): Promise<void> {
  const n = (await count(dataset, body)).toLocaleString('en-US')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(new RegExp(`^${n} `))
}

test('firms with a project, by the keyboard alone and for free', async ({ page }) => {
  const before = await used()
  await enter(page, '/accounts?account_type=general_contractor')
  await page.getByRole('link', { name: /^Firms \d/ }).focus()
  await page.keyboard.press('f')
  await expect(fields(page)).toBeFocused()
  await pick(page, 'one project')
  await expect(page).toHaveURL('/accounts?account_type=general_contractor&has_project')
  // From the choice between one and no project to the button that adds a condition.
  await expect(builder(page).getByLabel('Relation')).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(fields(page)).toBeFocused()
  await page.keyboard.type('permitted')
  await expect(page.getByRole('option', { name: 'Stage is Permitted' })).toBeVisible()
  // Values come last.
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await expect(values(page)).toBeFocused()
  await expect(page.getByRole('option', { name: 'Permitted' })).toHaveAttribute('aria-selected', 'true')
  await builder(page).getByRole('button', { name: 'Back' }).press('Enter')
  await builder(page).getByRole('button', { name: 'Condition', exact: true }).press('Enter')
  await pick(page, 'cost')
  const from = builder(page).getByLabel('Cost, from')
  await expect(from).toBeFocused()
  await page.keyboard.type('1,000,000')
  await page.keyboard.press('Enter')
  const address = '/accounts?account_type=general_contractor&has_project.stage=permitted&has_project.cost=1000000..'
  await expect(page).toHaveURL(address)
  await page.keyboard.press('Escape')
  await expect(builder(page)).toBeHidden()
  // The focus is restored.
  await expect(page.getByRole('link', { name: /^Firms \d/ })).toBeFocused()
  await expect(page.locator('.sentence')).toContainText(
    'firms where Kind of firm is General contractor and has at least one project where Stage is Permitted and Cost is at least 1,000,000',
    { useInnerText: true },
  )
  await showsCount(page, 'accounts', {
    filters: { account_type: { value: 'general_contractor' } },
    relations: { has_project: { stage: { value: 'permitted' }, cost: { value: [1000000, null] } } },
  })
  expect(await used()).toBe(before)
  // Going back once undoes everything that was done in the builder.
  await page.goBack()
  await expect(page).toHaveURL('/accounts?account_type=general_contractor')
  await page.goForward()
  await expect(page).toHaveURL(address)
})

test('each field has an editor', async ({ page }) => {
  test.setTimeout(180_000)
  await enter(page)
  const all = (await ask<{ data: { dataset: string; key: string; kind: string }[] }>('/data/fields/search', {})).data
  for (const dataset of ['projects', 'accounts', 'contacts', 'signals']) {
    await page.goto(`/${dataset}`)
    await counted(page)
    await page.keyboard.press('f')
    const own = all.filter((f) => f.dataset === dataset)
    const options = builder(page).getByRole('option')
    // Alternatives and exclusions too.
    await expect(options).toHaveCount(own.length + 2)
    // Projects have all kinds of fields.
    if (dataset !== 'projects') continue
    for (let i = 0; i < own.length + 2; i++) {
      const name = await options.nth(i).locator('.name').textContent()
      await options.nth(i).click()
      await expect(builder(page).getByRole('heading', { level: 2 })).not.toHaveText('Add a filter')
      const controls = builder(page).locator('.page').locator('input, select, .rows .add')
      expect(await controls.count(), `${dataset}: ${name}`).toBeGreaterThan(0)
      await builder(page).getByRole('button', { name: 'Back' }).click()
      await expect(fields(page)).toBeFocused()
    }
    await expect(page.getByRole('alert')).toHaveCount(0)
  }
})

test('an e-mail address is searched for its price, and not counted', async ({ page }) => {
  await enter(page, '/contacts')
  await page.keyboard.press('f')
  await fields(page).fill('e-mail')
  await expect(builder(page).getByRole('option').first()).toContainText('Not counted: each row found costs a credit')
  await page.keyboard.press('Enter')
  await builder(page).getByRole('combobox', { name: 'Words' }).fill('nobody@nowhere.example')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^Up to [\d,]+ people$/)
  await page.keyboard.press('Escape')
  await expect(page).toHaveURL('/contacts?email=nobody%40nowhere.example')
  await expect(page.getByRole('heading', { name: 'E-mail addresses are not counted' })).toBeVisible()
  const before = await used()
  await page.getByRole('button', { name: 'Search · up to 25 credits' }).click()
  await expect(page.getByRole('heading', { name: 'No people match' })).toBeVisible()
  expect(await used()).toBe(before)
})

test('a chip opens its editor, and the focus returns', async ({ page }) => {
  await enter(page, '/projects?stage=filed&filed_at=2015-01-01..&known=cost')
  await chip(page, 'Stage is Filed').click()
  await expect(values(page)).toBeFocused()
  await page.keyboard.type('compl')
  await expect(builder(page).getByRole('option', { name: /^Completed/ })).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/projects?stage=filed&stage=completed&filed_at=2015-01-01..&known=cost')
  await builder(page).getByLabel('Condition').selectOption('is none of')
  await expect(page).toHaveURL('/projects?filed_at=2015-01-01..&known=cost&none=stage=filed;stage=completed')
  await showsCount(page, 'projects', {
    filters: { filed_at: { value: ['2015-01-01', null] }, cost: { known: true } },
    none: [{ filters: { stage: { value: ['filed', 'completed'] } } }],
  })
  await page.keyboard.press('Escape')
  // Its chip has changed.
  await expect(page.getByRole('button', { name: 'Filter', exact: true })).toBeFocused()

  await chip(page, 'Cost is known').press('Enter')
  await builder(page).getByLabel('Condition').selectOption('is unknown')
  await expect(page).toHaveURL(/unknown=cost/)
  await page.keyboard.press('Escape')
  await chip(page, /^Permit filed is from/).press('Enter')
  await builder(page).getByRole('button', { name: 'Last 90 days' }).click()
  await expect(page).toHaveURL(/filed_at=now-90d\.\./)
  await page.keyboard.press('Escape')
  await expect(chip(page, /^Permit filed is in the last 90 days/)).toBeFocused()
  await page.getByRole('button', { name: /^Remove Permit filed/ }).click()
  await expect(page).toHaveURL('/projects?unknown=cost&none=stage=filed;stage=completed')
  await expect(page.getByRole('button', { name: 'Filter', exact: true })).toBeFocused()
})

test('alternatives and exclusions', async ({ page }) => {
  await enter(page)
  await page.keyboard.press('f')
  await pick(page, 'either')
  await builder(page).getByRole('button', { name: 'Condition', exact: true }).click()
  await pick(page, 'office')
  await expect(page).toHaveURL('/projects?any=primary_use=office')
  await builder(page).getByRole('button', { name: 'Back' }).click()
  await builder(page).getByRole('button', { name: 'Alternative', exact: true }).click()
  await pick(page, 'signal where')
  await builder(page).getByRole('button', { name: 'Condition', exact: true }).click()
  await pick(page, 'permit expired')
  const address = '/projects?any=primary_use=office&any=has_signal.signal_type=permit_expired'
  await expect(page).toHaveURL(address)
  await page.keyboard.press('Escape')
  const sentence = page.locator('.sentence')
  await expect(sentence).toContainText(
    'where either Use is Office or has at least one signal where Signal is Permit expired',
    {
      useInnerText: true,
    },
  )
  await showsCount(page, 'projects', {
    any: [
      { filters: { primary_use: { value: 'office' } } },
      { relations: { has_signal: { signal_type: { value: 'permit_expired' } } } },
    ],
  })
  // An exclusion that needs two conditions.
  await page.goto(`${address}&none=city=calgary`)
  await chip(page, 'City is not Calgary').click()
  await builder(page)
    .getByRole('button', { name: /^Exclude only if/ })
    .click()
  await fields(page).fill('completed')
  await page.getByRole('option', { name: 'Stage is Completed' }).click()
  await expect(page).toHaveURL(`${address}&none=city=calgary;stage=completed`)
  await page.keyboard.press('Escape')
  await chip(page, 'City is Calgary and Stage is Completed').click()
  await builder(page).getByRole('button', { name: 'Remove exclusion 1' }).click()
  await expect(page).toHaveURL(address)
})

test('more groups than a search takes are refused with a reason', async ({ page }) => {
  const ten = Array.from({ length: 10 }, (_, i) => `any=signals_count=${i}`).join('&')
  await enter(page, `/projects?${ten}`)
  await page.keyboard.press('f')
  await pick(page, 'none of')
  await builder(page).getByRole('button', { name: 'Condition', exact: true }).click()
  await pick(page, 'office')
  await expect(builder(page).getByRole('alert')).toHaveText(/10 alternatives and exclusions .* would make 11/)
  await expect(page).toHaveURL(`/projects?${ten}`)
  await page.keyboard.press('Escape')
  // The rail cannot either.
  const stage = page.getByRole('region', { name: 'Stage' })
  await stage.getByRole('button', { name: 'Stage is' }).click()
  await stage.getByLabel('Completed').click()
  await expect(page.getByText(/would make 11/)).toBeVisible()
  await expect(page).toHaveURL(`/projects?${ten}`)
  // An address with more has those that fit.
  await page.goto(`/projects?${ten}&none=stage=filed`)
  await counted(page)
  await expect(page.locator('.chip')).toHaveCount(10)
})

test('the rail excludes values', async ({ page }) => {
  await enter(page, '/projects?primary_use=office')
  const stage = page.getByRole('region', { name: 'Stage' })
  await stage.getByRole('button', { name: 'Stage is' }).click()
  await stage.getByLabel('Completed').check()
  await expect(page).toHaveURL('/projects?primary_use=office&none=stage=completed')
  await showsCount(page, 'projects', {
    filters: { primary_use: { value: 'office' } },
    none: [{ filters: { stage: { value: 'completed' } } }],
  })
  // A hidden value still has its count.
  await expect(stage.getByRole('listitem').filter({ hasText: 'Completed' })).toHaveText(/Completed[\d,]*[1-9]/)
  await stage.getByRole('button', { name: 'Stage is not' }).click()
  await expect(page).toHaveURL('/projects?primary_use=office&stage=completed')
})

test('a firm by its name, and a link that another tab opens', async ({ page, context }) => {
  await enter(page)
  await page.keyboard.press('f')
  await pick(page, 'firms that')
  await page.getByRole('combobox', { name: 'Firms' }).fill('mattamy')
  await page.getByRole('option', { name: /^MATTAMY HOMES CALGARY/ }).click()
  await expect(page).toHaveURL(/account_ids=[\da-f-]{36}$/)
  await page.keyboard.press('Escape')
  await expect(chip(page, 'Firms is MATTAMY HOMES CALGARY')).toBeVisible()
  const before = await used()
  const other = await context.newPage()
  await other.goto(page.url())
  await expect(chip(other, 'Firms is MATTAMY HOMES CALGARY')).toBeVisible()
  await other.getByRole('button', { name: /^Remove Firms/ }).click()
  await expect(other).toHaveURL('/projects')
  await expect(chip(page, 'Firms is MATTAMY HOMES CALGARY')).toBeVisible()
  expect(await used()).toBe(before)
})

test('a place as numbers', async ({ page }) => {
  await enter(page)
  await page.keyboard.press('f')
  await pick(page, 'location')
  await builder(page).getByLabel('Latitude').fill('91')
  await builder(page).getByLabel('Longitude').fill('-114.07')
  await builder(page).getByLabel('Radius in km').fill('2')
  await expect(builder(page)).toContainText('Latitude is from -90 to 90')
  await builder(page).getByLabel('Latitude').fill('51.04')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/projects?location=51.04,-114.07,2km')
  await showsCount(page, 'projects', {
    filters: { location: { value: { near: { latitude: 51.04, longitude: -114.07, radius_m: 2000 } } } },
  })
  await page.keyboard.press('Escape')
  await expect(chip(page, 'Location is within 2 km of 51.0400, -114.0700')).toBeVisible()
})

test('the command of a search with relations and groups runs', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(
    page,
    '/accounts?name=homes&unknown=has_contact.title&has_project.stage=completed&has_project.location=51.04,-114.07,20km' +
      '&any=has_signal&any=projects_count=5..&none=account_type=broker;city=calgary&sort=name:desc',
  )
  const shown = Number((await page.getByRole('heading', { level: 1 }).textContent())?.replace(/\D/g, ''))
  const copied = async (name: string) => {
    await page.getByRole('button', { name: 'Copy the search' }).click()
    await page.getByRole('button', { name }).click()
    const text = await page.evaluate(() => navigator.clipboard.readText())
    await page.keyboard.press('Escape')
    return text
  }
  const { base_url, workspaces } = service()
  const binaries = resolve(dirname(process.env.ATLAS_DEV ?? '../bin/atlas-dev'))
  const env = {
    ...process.env,
    PATH: `${binaries}:${process.env.PATH}`,
    ATLAS_URL: base_url,
    ATLAS_API_KEY: workspaces[0]?.api_key,
  }
  const run = (command: string) => JSON.parse(execFileSync('sh', ['-c', command], { env }).toString()) as unknown
  expect(run(`${await copied('Command of atlas')} --dry-run --json`)).toMatchObject({ count: shown })
  const curl = (await copied('Request with curl')).replace('"limit":25', '"limit":1')
  expect(run(curl)).toMatchObject({ metadata: { total: shown } })
})

test('no match offers to drop a condition on a related record', async ({ page }) => {
  await enter(page, '/accounts?has_project.stage=permitted&has_project.cost=900000000..')
  await expect(page.getByRole('heading', { name: 'No firms match' })).toBeVisible()
  await page.getByRole('button', { name: /^Without Cost is at least 900,000,000, of the project/ }).click()
  await expect(page).toHaveURL('/accounts?has_project.stage=permitted')
  await expect(page.getByRole('heading', { level: 1 })).not.toHaveText(/^0 /)
})

test('failed counts can be retried', async ({ page }) => {
  await enter(page, '/projects?stage=filed')
  await page.route('**/data/projects/facets*', (route) =>
    (route.request().postDataJSON() as { facets: { limit?: number }[] }).facets[0]?.limit === 50
      ? route.fulfill({ status: 503, json: { error: { code: 'unavailable', message: 'a message' } } })
      : route.continue(),
  )
  await chip(page, 'Stage is Filed').click()
  const alert = builder(page).getByRole('alert')
  await expect(alert).toContainText('Atlas cannot answer right now')
  await page.unroute('**/data/projects/facets*')
  await alert.getByRole('button', { name: 'Try again' }).click()
  await expect(page.getByRole('option', { name: 'Filed' })).toBeVisible()
})

test('the content of an address is escaped', async ({ page }) => {
  const names = [
    '<img src=x onerror="document.title=1">',
    `${'long '.repeat(90)}end`,
    'شركة البناء \u202E123',
    '😀;any=x',
  ]
  const query = names.map((name) => `any=name=${encodeURIComponent(name.replaceAll(';', ';;'))}`).join('&')
  await enter(page, `/projects?${query}&city=${'x'.repeat(20_000)}&none=city=filed;;x;cost=1..&has_house=1`)
  for (const [i, name] of names.entries()) {
    await expect(page.locator('.chip').nth(i)).toContainText(`“${name.trim()}”`)
    expect((await page.locator('.chip').nth(i).boundingBox())?.height).toBeLessThan(80)
  }
  await chip(page, /^Name has “<img/).click()
  await expect(builder(page)).toContainText(names[0] ?? '')
  await expect(builder(page)).toContainText('😀;any=x')
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle(/Atlas$/)
})

everywhere((width) => {
  test('passes axe', async ({ page }) => {
    await enter(
      page,
      '/projects?stage=filed&name=garage&cost=1..&filed_at=2015-01-01..&location=51,-114,90km&has_signal.stage=filed&any=sqft=1..&none=city=x',
    )
    const shows = /^(Stage is|Name has|Cost is|Permit filed|Location|has at least one|Floor area|City is not)/
    const chips = page.locator('.chip .what').filter({ hasText: shows })
    await expect(chips).toHaveCount(8)
    for (let i = 0; i < 8; i++) {
      await chips.nth(i).click()
      await expect(builder(page)).toBeVisible()
      await expect(builder(page).locator('.skeleton')).toHaveCount(0)
      expect(await findings(page), `chip ${i}`).toEqual([])
      await page.keyboard.press('Escape')
      await expect(builder(page)).toBeHidden()
    }
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await expect(fields(page)).toBeVisible()
    expect(await findings(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
  })
})
