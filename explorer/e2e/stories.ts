import { randomUUID } from 'node:crypto'
import type { Locator, Page } from '@playwright/test'
import { applyFirms } from './operator'
import { counted, enter, expect, test, used } from './service'
import { call, create, firms, remove, unique, type View } from './workspace'

// Times of the README: `scripts/explorer measure stories`. Each story begins on the first screen,
// for a user who has just signed in for the first time.

test.setTimeout(120_000)

/** Hand counts the user's actions, and the seconds that the page takes for them. */
class Hand {
  private clicks = 0
  private letters = 0
  private keys = 0
  private from = performance.now()
  constructor(private page: Page) {}
  async click(what: Locator, options?: Parameters<Locator['click']>[0]) {
    this.clicks++
    await what.click(options)
  }
  async choose(what: Locator, label: string) {
    this.clicks += 2
    await what.selectOption({ label })
  }
  async type(what: Locator, text: string) {
    this.letters += text.length
    await what.fill(text)
  }
  async press(key: string) {
    this.keys++
    await this.page.keyboard.press(key)
  }
  async look(address: RegExp) {
    await expect(this.page).toHaveURL(address)
    await expect(this.page.getByRole('main')).toHaveAttribute('aria-busy', 'false')
    await counted(this.page)
  }
  async shot(name: string) {
    if (process.env.SHOTS) await this.page.screenshot({ path: `${process.env.SHOTS}/${name}.png` })
  }
  report(story: string, credits: number) {
    const seconds = ((performance.now() - this.from) / 1000).toFixed(1)
    console.log(`| ${story} | ${this.clicks} | ${this.keys} | ${this.letters} | ${credits} | ${seconds} |`)
  }
}

const heading = (page: Page) => page.getByRole('heading', { level: 1 })
const all = (page: Page) => page.getByRole('checkbox', { name: 'Select all rows that are loaded' })
const loaded = (page: Page) => expect(page.getByRole('grid').getByRole('row').nth(1)).toBeVisible()

async function removeViews(...names: string[]) {
  const { views } = await call<{ views: View[] }>('GET', '/workspace/views?limit=100')
  for (const view of views) if (names.includes(view.name)) await remove(view)
}

test('from a question in words to a file of people', async ({ page }) => {
  const before = await used()
  const list = unique('To call')
  await enter(page)
  const hand = new Hand(page)
  await hand.click(page.getByRole('link', { name: /^Firms [\d,]+/ }))
  await hand.look(/\/accounts$/)
  const box = page.getByRole('combobox', { name: 'Search firms' })
  await hand.click(box)
  await hand.type(box, 'contractors building apartments in calgary')
  await expect(page.locator('.reading').getByRole('button')).toBeVisible()
  await hand.shot('story1-words')
  await hand.press('ArrowRight')
  await hand.look(/has_project/)
  await hand.click(page.getByRole('button', { name: /^Show \d+ rows/ }))
  await loaded(page)
  await hand.click(all(page))
  await hand.shot('story1-firms')
  await hand.click(page.getByRole('button', { name: /^People at these/ }))
  await hand.look(/\/contacts\?/)
  await hand.click(page.getByRole('button', { name: /^Show \d+ rows/ }))
  await loaded(page)
  await hand.click(all(page))
  await hand.click(page.getByRole('button', { name: 'Add to a list…' }))
  await hand.shot('story1-list')
  await hand.click(page.getByLabel('A new list'))
  await hand.type(page.getByRole('textbox', { name: 'Name' }), list)
  await hand.press('Enter')
  await hand.click(page.getByRole('link', { name: 'Open the list' }))
  await hand.look(/\/views\//)
  await hand.shot('story1-open')
  await hand.click(page.getByRole('link', { name: /^Export/ }))
  await hand.shot('story1-export')
  const file = page.waitForEvent('download')
  await hand.click(page.getByRole('button', { name: /^Export \d+ rows/ }))
  expect((await file).suggestedFilename()).toMatch(/^to-call.*\.csv$/i)
  hand.report('a question in words, firms, their people, a list, a file', (await used()) - before)
  await removeViews(list)
})

test('a View that reports new records', async ({ page }) => {
  const city = `Story${Date.now().toString(36)}`
  const firm = (name: string) => ({ id: randomUUID(), name, city, updated_at: new Date().toISOString() })
  const [known, fresh] = [firm('Known before'), firm('Begins to match')]
  const name = unique('Firms of the story')
  applyFirms([known])
  try {
    await enter(page, '/accounts')
    const before = await used()
    const hand = new Hand(page)
    const box = page.getByRole('combobox', { name: 'Search firms' })
    await hand.click(box)
    await hand.type(box, city)
    await hand.click(page.getByRole('option', { name: new RegExp(`City is ${city}`) }))
    await hand.look(/city=/)
    await hand.click(page.getByRole('button', { name: 'Save as View' }))
    await hand.type(page.getByRole('dialog').getByLabel('Name'), name)
    await hand.press('Enter')
    await hand.click(page.getByRole('link', { name: 'Views' }))
    await hand.click(page.getByRole('row').getByRole('button', { name: `Alert: ${name}` }))
    await expect(page.getByRole('button', { name: `Alert: ${name}` })).toHaveAttribute('aria-pressed', 'true')
    await hand.shot('story2-alert')
    const state = async () =>
      (await call<{ alerts: { state: string; new_count: number }[] }>('GET', '/workspace/alerts')).alerts
    await expect.poll(async () => (await state()).every((a) => a.state === 'watching')).toBe(true)
    hand.report('a search, a View, its alert', (await used()) - before)

    applyFirms([fresh])
    await expect.poll(async () => (await state()).some((a) => a.new_count === 1)).toBe(true)
    const next = await page.context().newPage()
    await next.goto('/')
    await counted(next)
    const later = new Hand(next)
    await later.click(next.getByRole('link', { name: /^Signal queue/ }))
    await later.shot('story2-queue')
    await later.click(next.getByRole('region', { name: 'Alerts on your Views' }).getByRole('link', { name }))
    await later.click(next.getByRole('button', { name: /^Show 2 rows/ }))
    await expect(next.locator('.grid-row', { hasText: 'Begins to match' })).toContainText('New')
    await later.shot('story2-new')
    await later.click(next.getByRole('button', { name: 'Seen', exact: true }))
    await expect(next.getByText('began to match since you looked')).toBeHidden()
    later.report('the next day: what is new, seen', (await used()) - before)
  } finally {
    await removeViews(name)
    applyFirms([known, fresh].map(({ id }) => ({ id, deleted: true, updated_at: new Date().toISOString() })))
  }
})

test('an area of the map, its rows, a board', async ({ page }) => {
  const name = unique('Downtown')
  await enter(page)
  const before = await used()
  const hand = new Hand(page)
  await hand.click(page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name: 'Map' }))
  const goTo = page.getByRole('combobox', { name: /^Go to/ })
  await hand.click(goTo)
  await hand.type(goTo, 'calgary')
  await hand.press('Enter')
  await expect(page).toHaveURL(/at=51/)
  await hand.click(page.getByRole('button', { name: 'Draw an area' }))
  const draw = page.locator('.draw')
  const { width = 0, height = 0 } = (await draw.boundingBox()) ?? {}
  for (const [x, y] of [
    [-120, -90],
    [120, -90],
    [140, 80],
    [-100, 110],
  ] as const)
    await hand.click(draw, { position: { x: width / 2 + x, y: height / 2 + y } })
  await hand.press('Enter')
  await hand.look(/location=/)
  await hand.shot('story3-area')
  await hand.click(page.getByRole('button', { name: 'Add to board' }))
  const dialog = page.getByRole('dialog', { name: 'Add to board' })
  await hand.choose(dialog.getByLabel('Board'), 'A new board')
  await hand.type(dialog.getByLabel('Name'), name)
  await hand.shot('story3-board-dialog')
  await hand.click(dialog.getByRole('button', { name: 'Add', exact: true }))
  await expect(page.getByText(`is on “${name}”`)).toBeVisible()
  await hand.click(page.getByRole('navigation', { name: 'Looks' }).getByRole('link', { name: 'Table' }))
  await hand.click(page.getByRole('button', { name: /^Show 25 rows/ }))
  await loaded(page)
  await hand.shot('story3-table')
  await hand.click(page.getByRole('link', { name: 'Boards' }))
  await hand.click(page.getByRole('link', { name }))
  await expect(page.locator('.board-tile')).toHaveCount(1)
  await expect(page.locator('.board-tile .static-map, .board-tile svg').first()).toBeVisible()
  await hand.shot('story3-board')
  hand.report('the map, an area, its rows, a board', (await used()) - before)
  const { boards } = await call<{ boards: View[] }>('GET', '/workspace/boards')
  for (const b of boards) if (b.name === name) await call('DELETE', `/workspace/boards/${b.id}`)
})

test('a list that is worked through', async ({ page }) => {
  const list = await create(unique('To sort out'))
  const records = await firms(20)
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: records.map(({ id }) => ({ record_id: id })),
  })
  await enter(page)
  const before = await used()
  const hand = new Hand(page)
  await hand.click(page.getByRole('link', { name: 'Views' }))
  await hand.click(page.getByRole('link', { name: list.name }).first())
  await hand.look(/\/views\//)
  await hand.click(page.getByRole('button', { name: /^Show 20 rows/ }))
  await loaded(page)
  await hand.click(all(page))
  await hand.click(page.getByRole('button', { name: 'Set status, add tags…' }))
  await hand.type(page.getByLabel('Status', { exact: true }), 'to call')
  await hand.choose(page.getByRole('dialog').getByLabel('Tier'), 'Tier 2')
  await hand.shot('story4-set')
  await hand.click(page.getByRole('button', { name: 'Set for 20 firms' }))
  await hand.click(page.getByRole('button', { name: 'Done' }))
  await expect(page.getByText('20 firms are set')).toBeVisible()
  await hand.shot('story4-done')
  await hand.click(page.getByRole('button', { name: 'Undo' }))
  await expect(page.getByText('Undone', { exact: true })).toBeVisible()
  await hand.shot('story4-undone')
  hand.report('a list, a status for all of it, undone', (await used()) - before)
  await call('POST', '/workspace/accounts/delete/batch', { ids: records.map((r) => r.id) })
  await remove(list)
})

test('a firm, what happened to it, and similar ones', async ({ page }) => {
  await enter(page)
  const before = await used()
  const hand = new Hand(page)
  await hand.click(page.getByRole('link', { name: /^Firms [\d,]+/ }))
  await hand.look(/\/accounts$/)
  const box = page.getByRole('combobox', { name: 'Search firms' })
  await hand.click(box)
  await hand.type(box, 'truman')
  await hand.click(page.getByRole('option').first())
  const drawer = page.locator('.drawer')
  await expect(drawer.getByRole('tab', { name: /^Projects \d+/ })).toBeVisible()
  await hand.shot('story5-firm')
  await hand.click(drawer.getByText('Timeline', { exact: true }))
  await expect(drawer.locator('details', { hasText: 'Timeline' }).getByRole('listitem').first()).toBeVisible()
  await hand.shot('story5-timeline')
  await hand.click(drawer.getByRole('link', { name: /^Similar firms/ }))
  await hand.look(/has_project\.primary_use=/)
  await expect(heading(page)).toHaveText(/firms/)
  await hand.shot('story5-similar')
  hand.report('a firm by its name, its timeline, similar firms', (await used()) - before)
})
