import { findings } from './axe'
import { enter, expect, test, used } from './service'

const question = 'office renovation calgary over 1m'

test('a question in words is suggested as conditions, which one key accepts', async ({ page }) => {
  const before = await used()
  await enter(page)
  const box = page.getByRole('combobox', { name: 'Search projects' })
  await box.fill(question)
  const offer = page.locator('.reading').getByRole('button')
  await expect(offer).toHaveText(
    /^Use is Office, City is Calgary, Cost at least 1,000,000, with “renovation” · \d+ projects? →$/,
  )
  const count = /· ([\d,]+ projects?)/.exec((await offer.textContent()) ?? '')?.[1] ?? ''
  // Nothing is applied before.
  await expect(page).toHaveURL(/\?q=office\+renovation\+calgary\+over\+1m$/)
  expect(await findings(page)).toEqual([])
  // Inside the text the key moves, at its end it takes.
  await box.press('Home')
  await box.press('ArrowRight')
  await expect(offer).toBeVisible()
  await box.press('End')
  await box.press('ArrowRight')
  await expect(page).toHaveURL('/projects?q=renovation&city=Calgary&cost=1000000..&primary_use=office')
  await expect(box).toHaveValue('renovation')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(count)
  await expect(offer).toBeHidden()
  await page.goBack()
  await expect(box).toHaveValue(question)
  expect(await used()).toBe(before)
})

test('firms are offered by their projects, beside the conditions that are there', async ({ page }) => {
  await enter(page, '/accounts?q=gc+building+apartments+in+calgary&state=AB')
  const offer = page.locator('.reading').getByRole('button')
  await expect(offer).toContainText('one project where Use is Multifamily and City is Calgary · ')
  const count = /· ([\d,]+ firms?)/.exec((await offer.textContent()) ?? '')?.[1] ?? ''
  await offer.click()
  await expect(page).toHaveURL(/\/accounts\?state=AB&account_type=general_contractor&has_project\./)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(count)
})

test('names and unknown words have no suggestion', async ({ page }) => {
  const requests: string[] = []
  page.on('response', (r) => {
    if (r.url().includes('/read')) requests.push(r.url())
  })
  await enter(page, '/contacts?q=dallas+smith')
  await expect.poll(() => requests.length).toBe(1)
  await expect(page.locator('.reading')).toBeHidden()
})

test('hostile conditions are escaped', async ({ page }) => {
  await page.route('**/projects/read*', (route) =>
    route.fulfill({
      json: {
        data: {
          filters: { city: { value: ['Calgary'] } },
          relations: {},
          sentence: '<img src=x onerror="document.title=1"> \u202E' + 'x'.repeat(2000),
          conditions: [{ field: 'city', text: 'x', spans: [{ from: 0, to: 1 }] }],
          count: 1,
        },
        metadata: { credits: 0 },
      },
    }),
  )
  await enter(page, '/projects?q=x')
  await expect(page.locator('.reading').getByRole('button')).toContainText('<img src=x')
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
  await expect(page).toHaveTitle(/ · Atlas$/)
})
