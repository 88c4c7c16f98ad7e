import { enter, expect, test, used } from './service'
import { another, call, firms, unique } from './workspace'

test('the book is searched by what the workspace says, and its rows have their price', async ({ page }) => {
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

  // The row says what the workspace says; nothing more is paid.
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

test('a chart counts the book by what the workspace says', async ({ page }) => {
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

test('many records get a status and keep their tags', async ({ page }) => {
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
  await expect(page.getByText('Undone. The records stay in your book.')).toBeVisible()
  expect(await call('GET', `/workspace/accounts/${tagged}`)).toMatchObject({
    workspace_status: null,
    icp_tier: null,
    tags: ['kept'],
    notes: 'mine',
  })
  await call('POST', '/workspace/accounts/delete/batch', { ids: records.map((r) => r.id) })
})

test('two members edit one record: neither loses what the other has saved', async ({ page, browser }) => {
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
  // Tags of both are kept.
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
