import { findings } from './axe'
import { enter, expect, test, used } from './service'
import { admin, another, call, create, firms, remove, unique } from './workspace'

test('the book is searched by annotations, and its rows have a price', async ({ page }) => {
  const status = unique('in talks')
  const records = await firms(3)
  for (const { id } of records)
    await call('POST', '/workspace/accounts/upsert', { account_id: id, workspace_status: status, tags: ['north'] })
  await enter(page, '/book/accounts')
  await page.getByRole('region', { name: 'Our status' }).getByLabel(status).check()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 firms in your book')
  await expect(page).toHaveURL(/\/book\/accounts\?workspace_status=/)
  const before = await used()
  await page.getByRole('button', { name: 'Show 3 rows · 3 credits' }).click()
  await expect(page.getByRole('row').nth(3)).toContainText(status)
  expect(await used()).toBe(before + 3)

  // The row shows the workspace's values; nothing more is charged.
  await page.getByRole('row').nth(2).click()
  const region = page.getByRole('region', { name: 'Your workspace' })
  await expect(region.getByLabel('Status')).toHaveValue(status)
  await region.getByLabel('Notes').fill('call on Monday')
  await region.getByLabel('Tags').fill('priority')
  await region.getByLabel('Tags').press('Enter')
  await expect(page.getByRole('row').nth(2)).toContainText('north, priority')
  await region.getByRole('button', { name: 'Remove from the book' }).click()
  await expect(page.getByText('The record is out of your book')).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('2 firms in your book')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 firms in your book')
  expect(await used()).toBe(before + 3)
  for (const { id } of records) await call('DELETE', `/workspace/accounts/${id}`)
})

test('a chart counts the book by annotations', async ({ page }) => {
  const [a, b, c] = await firms(3)
  const status = unique('won')
  for (const { id } of [a, b, c] as { id: string }[])
    await call('POST', '/workspace/accounts/upsert', { account_id: id, workspace_status: status, icp_tier: 'tier_1' })
  await enter(page, '/book/accounts?look=chart')
  await page.locator('.choice select').nth(1).selectOption({ label: 'Our status' })
  await expect(page).toHaveURL('/book/accounts?look=chart&by=workspace_status')
  const table = page.getByRole('table', { name: 'Firms by our status' })
  await page.getByRole('button', { name: 'Numbers' }).press('Enter')
  await expect(table.getByRole('row', { name: new RegExp(`^${status}`, 'i') }).getByRole('cell')).toHaveText('3')
  await table.getByRole('button', { name: new RegExp(status, 'i') }).press('Enter')
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('3 firms in your book')
  await page.locator('.choice select').nth(1).selectOption({ label: 'Tier' })
  await expect(page.getByRole('heading', { name: 'Firms by tier' })).toBeVisible()
  await call('POST', '/workspace/accounts/delete/batch', { ids: [a?.id, b?.id, c?.id] })
})

test('many records get a status, and their tags are preserved', async ({ page }) => {
  const status = unique('to call')
  const records = await firms(25)
  const tagged = records[1]?.id ?? ''
  await call('POST', '/workspace/accounts/upsert', { account_id: tagged, tags: ['kept'], notes: 'mine' })
  await enter(page, '/accounts')
  await page.getByRole('button', { name: /^Show 25 rows/ }).click()
  await expect(page.getByRole('grid')).toBeVisible()
  const before = await used()
  await page.getByRole('checkbox', { name: 'Select all rows that are loaded' }).check()
  await page.getByRole('button', { name: 'Set status, add tags…' }).click()
  await page.getByLabel('Status', { exact: true }).fill(status)
  await page.getByLabel('Tier').selectOption('Tier 2')
  await page.getByLabel('Add tags').fill('north, autumn')
  await page.getByRole('button', { name: 'Set for 25 firms' }).click()
  await expect(page.getByRole('dialog')).toContainText('25 firms are set, and in your book')
  await page.getByRole('button', { name: 'Done' }).click()
  expect(await used()).toBe(before)
  await expect(page.getByText('25 firms are set')).toBeVisible()
  expect(await call('GET', `/workspace/accounts/${tagged}`)).toMatchObject({
    workspace_status: status,
    icp_tier: 'tier_2',
    tags: ['kept', 'north', 'autumn'],
    notes: 'mine',
  })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(page.getByText('Undone', { exact: true })).toBeVisible()
  // Records that were not in the book are removed from it.
  expect(await call('GET', `/workspace/accounts/${records[2]?.id}`)).toBeUndefined()
  expect(await call('GET', `/workspace/accounts/${tagged}`)).toMatchObject({
    workspace_status: null,
    icp_tier: null,
    tags: ['kept'],
    notes: 'mine',
  })
  await call('POST', '/workspace/accounts/delete/batch', { ids: records.map((r) => r.id) })
})

test('two members edit one record: neither overwrites the other', async ({ page, browser }) => {
  const [record] = await firms(1)
  const id = record?.id ?? ''
  await call('POST', '/workspace/accounts/upsert', { account_id: id, workspace_status: 'open', tags: ['one'] })
  await enter(page, `/accounts/${id}`)
  const other = await another(browser, `/accounts/${id}`)
  for (const p of [page, other]) {
    await p.getByRole('button', { name: 'Show it · 1 credit' }).click()
    await p.getByRole('button', { name: /^Show status/ }).click()
    await expect(p.getByLabel('Status')).toHaveValue('open')
  }
  const region = page.getByRole('region', { name: 'Your workspace' })
  const theirs = other.getByRole('region', { name: 'Your workspace' })
  await theirs.getByLabel('Status').fill('won')
  await theirs.getByLabel('Status').press('Enter')
  await expect(other.getByText('Status saved')).toBeVisible()
  // The tags of both are saved.
  await theirs.getByLabel('Tags').fill('two')
  await theirs.getByLabel('Tags').press('Enter')
  await expect(theirs.getByRole('button', { name: 'Remove the tag two' })).toBeVisible()
  await expect(other.getByText('Tags saved')).toBeVisible()
  await region.getByLabel('Tags').fill('three')
  await region.getByLabel('Tags').press('Enter')
  await expect(region.getByRole('button', { name: 'Remove the tag two' })).toBeVisible()
  await expect(region.getByRole('button', { name: 'Remove the tag three' })).toBeVisible()
  // One has seen the other's status by now, and changes it.
  await expect(region.getByLabel('Status')).toHaveValue('won')
  await region.getByLabel('Status').fill('paused')
  await region.getByLabel('Status').press('Enter')
  await expect(page.getByText('Status saved')).toBeVisible()
  // The other has not.
  await theirs.getByLabel('Status').fill('lost')
  await theirs.getByLabel('Status').press('Enter')
  const alert = theirs.getByRole('alert')
  await expect(alert).toContainText('Somebody else has changed this meanwhile')
  await expect(alert).toContainText('theirs “paused”, yours “lost”')
  await alert.getByRole('button', { name: 'Keep theirs' }).click()
  await expect(theirs.getByLabel('Status')).toHaveValue('paused')
  await theirs.getByLabel('Status').fill('lost')
  await theirs.getByLabel('Status').press('Enter')
  await expect(theirs.getByLabel('Status')).toHaveValue('lost')
  await expect(alert).toHaveCount(0)
  await expect(other.getByText('Status saved')).toBeVisible()
  expect(await call('GET', `/workspace/accounts/${id}`)).toMatchObject({
    workspace_status: 'lost',
    tags: ['one', 'two', 'three'],
  })
  await call('DELETE', `/workspace/accounts/${id}`)
  await other.context().close()
})

test('status, tier, tags and notes are edited in the table, and undone', async ({ page }) => {
  const status = unique('to visit')
  const [first, second] = await firms(2)
  const list = await create(unique('Edited here'))
  await call('POST', `/workspace/views/${list.id}/records/add/batch`, {
    inputs: [{ record_id: first?.id }, { record_id: second?.id }],
  })
  await call('POST', '/workspace/accounts/upsert', { account_id: first?.id, workspace_status: 'open', tags: ['one'] })
  await enter(page, `/views/${list.id}`)
  await page.getByRole('button', { name: /^Show 2 rows/ }).click()
  const row = (name = '') => page.getByRole('row').filter({ hasText: name })
  await expect(row(second?.name)).toBeVisible()
  const overlay = (id = '') => call<object | undefined>('GET', `/workspace/accounts/${id}?fields=workspace_status,tags`)

  // By keys: the cell of the status, and back to the row's cells.
  await row(first?.name).getByRole('gridcell').nth(1).focus()
  await page.keyboard.press('Enter')
  const input = page.getByRole('textbox', { name: `Our status of ${first?.name}` })
  await expect(input).toBeFocused()
  await input.fill('not this')
  await input.press('Escape')
  await expect(row(first?.name)).toContainText('open')
  await page.keyboard.press('F2')
  await input.fill(status)
  expect(await findings(page)).toEqual([])
  if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/edit.png` })
  await input.press('Enter')
  await expect(page.getByText('Our status saved')).toBeVisible()
  await expect(row(first?.name)).toContainText(status)
  await expect(row(first?.name).getByRole('gridcell').nth(1)).toBeFocused()
  expect(await overlay(first?.id)).toMatchObject({ workspace_status: status, tags: ['one'] })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(row(first?.name)).toContainText('open')

  // With the mouse, for a firm outside the book: undo removes it.
  const tags = row(second?.name).getByRole('gridcell').nth(2)
  await tags.hover()
  await tags.getByRole('button', { name: 'Edit Tags of' }).click()
  await page.getByRole('textbox', { name: `Tags of ${second?.name}` }).fill('north, <b>bold</b>')
  await page.getByRole('heading', { level: 1 }).click()
  await expect(page.getByText('Tags saved; the record is in your book now')).toBeVisible()
  await expect(row(second?.name)).toContainText('north, <b>bold</b>')
  expect(await overlay(second?.id)).toMatchObject({ tags: ['north', '<b>bold</b>'] })
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect(row(second?.name)).not.toContainText('north')
  expect(await overlay(second?.id)).toBeUndefined()

  // If somebody else has changed the value since, nothing is lost.
  await call('POST', '/workspace/accounts/upsert', { account_id: first?.id, workspace_status: 'theirs' }, admin)
  await row(first?.name).getByRole('gridcell').nth(1).focus()
  await page.keyboard.press('F2')
  await input.fill('mine')
  await input.press('Enter')
  const notice = page.getByRole('alert').filter({ hasText: 'is not saved' })
  await expect(notice).toContainText('Somebody else has changed this meanwhile')
  await expect(notice).toContainText('mine')
  await expect(row(first?.name)).toContainText('theirs')
  await notice.getByRole('button', { name: 'Discard' }).click()
  await expect(notice).toHaveCount(0)
  await remove(list)
  await call('POST', '/workspace/accounts/delete/batch', { ids: [first?.id, second?.id] })
})
