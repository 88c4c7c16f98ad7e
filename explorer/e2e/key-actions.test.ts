import type { Page } from '@playwright/test'
import { everywhere, findings } from './axe'
import { expect, link, service, test } from './service'
import { call, unique, type View } from './workspace'

const hostile = '<img src=x onerror=alert(1)>'

interface Key {
  id: string
  secret: string
}

/** made is a new key, and a function that calls the API with it. */
async function made(name: string) {
  const body = { name, scopes: ['workspace:read', 'workspace:write'] }
  const { api_key: key } = await call<{ api_key: Key }>('POST', '/workspace/api-keys', body)
  const as = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${service().base_url}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key.secret}`, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    expect(response.status).toBe(200)
    return ((await response.json()) as { data: T }).data
  }
  const view = async (name: string) =>
    (await as<{ view: View }>('POST', '/workspace/views/upsert', { dataset: 'account', name, view_type: 'static' }))
      .view
  return { ...key, name, as, view }
}

const views = async () => {
  const all: View[] = []
  for (;;) {
    const path = `/workspace/views?limit=100&offset=${all.length}`
    const page = (await call<{ views: View[] }>('GET', path)).views
    all.push(...page)
    if (page.length < 100) return all.map((v) => v.id)
  }
}

async function open(page: Page, name: string) {
  await page.goto(link())
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  await page.goto('/settings/keys')
  const key = page.getByRole('listitem', { name, exact: true })
  await Promise.all([
    page.waitForResponse((r) => r.url().includes('/actions')),
    key.getByRole('button', { name: 'What it did' }).click(),
  ])
  return key
}

test('the actions of a key are paged, previewed by a dry run, and undone', async ({ page }) => {
  let dialogs = 0
  page.on('dialog', (d) => {
    dialogs++
    void d.dismiss()
  })
  const leaked = await made(unique(`${hostile} leaked`))
  const name = unique('Of a key')
  const own: View[] = []
  for (let i = 0; i < 52; i++) own.push(await leaked.view(`${name} ${i}`))
  const [taken] = own
  // Somebody else changes one of them later.
  await call('POST', '/workspace/views/upsert', {
    id: taken?.id,
    dataset: 'account',
    view_type: 'static',
    name: `${name}, kept`,
  })
  const key = await open(page, leaked.name)
  const did = key.getByRole('list', { name: 'What the key did, the latest first' }).getByRole('listitem')
  await expect(did).toHaveCount(50)
  await expect(did.first()).toContainText('View created')
  await expect(did.first()).toContainText('can be undone')
  await key.getByRole('button', { name: 'Show what it did before' }).click()
  await expect(did).toHaveCount(52)
  await expect(did.last()).toContainText('somebody else changed it later')
  await expect(key).toContainText('Revoke the key to undo what it did')
  await expect(key.getByRole('button', { name: 'Undo what it did' })).toHaveCount(0)
  await key.getByRole('button', { name: 'Revoke' }).click()
  await Promise.all([
    page.waitForResponse((r) => r.request().method() === 'DELETE'),
    page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click(),
  ])

  const undo = page.getByRole('dialog')
  const undoResponse = () => page.waitForResponse((r) => r.url().includes('/undo'))
  await Promise.all([undoResponse(), key.getByRole('button', { name: 'Undo what it did' }).click()])
  await expect(undo).toContainText('51 will be undone, 1 stays as it is.')
  await expect(undo.getByRole('listitem').last()).toContainText('stays: somebody else changed it later')
  expect(await views()).toEqual(expect.arrayContaining(own.map((v) => v.id)))
  await undo.getByRole('button', { name: 'Cancel' }).click()
  expect(await views()).toEqual(expect.arrayContaining(own.map((v) => v.id)))

  await Promise.all([undoResponse(), key.getByRole('button', { name: 'Undo what it did' }).click()])
  await Promise.all([undoResponse(), undo.getByRole('button', { name: 'Undo it' }).click()])
  await expect(undo).toContainText('51 undone, 1 stays as it is.')
  await expect(undo.getByRole('button', { name: 'Done' })).toBeFocused()
  await expect(undo.getByRole('listitem').first()).toContainText('undone')
  const left = await views()
  expect(own.filter((v) => left.includes(v.id)).map((v) => v.id)).toEqual([taken?.id])
  await undo.getByRole('button', { name: 'Done' }).click()
  await expect(did.first()).toContainText('is as it was before')
  // A deleted object cannot be opened.
  await expect(key.getByRole('link', { name: /^Open: / })).toHaveCount(1)
  // Nothing is left to undo.
  await Promise.all([undoResponse(), key.getByRole('button', { name: 'Undo what it did' }).click()])
  await expect(undo).toContainText('0 will be undone, 52 stay as they are.')
  await expect(undo.getByRole('button', { name: 'Undo it' })).toHaveCount(0)
  await call('DELETE', `/workspace/views/${taken?.id}`)
  expect(dialogs).toBe(0)
})

test('a key without actions has a note, and errors are explained', async ({ page }) => {
  const idle = await made(unique('Idle'))
  let key = await open(page, idle.name)
  await expect(key).toContainText('It changed nothing that is still known')
  const busy = await made(unique('Busy'))
  const view = await busy.view(unique('Of a busy key'))
  await call('DELETE', `/workspace/api-keys/${busy.id}`)
  key = await open(page, busy.name)
  await page.route('**/undo?*', (route) =>
    route.fulfill({ status: 409, json: { error: { code: 'api_key_active', message: 'revoke this API key first' } } }),
  )
  await key.getByRole('button', { name: 'Undo what it did' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('alert')).toContainText('It cannot be undone')
  await expect(dialog.getByRole('alert')).toContainText('Revoke this API key first.')
  await expect(dialog.getByRole('button', { name: 'Undo it' })).toHaveCount(0)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await key.getByRole('link', { name: /^Open: View created/ }).click()
  await expect(page).toHaveURL(new RegExp(`/views/${view.id}`))
  await call('DELETE', `/workspace/views/${view.id}`)
  await call('DELETE', `/workspace/api-keys/${idle.id}`)
})

everywhere((width) => {
  test('the actions of a key have no findings of axe', async ({ page, colorScheme }) => {
    const busy = await made(unique('Seen'))
    const own = [await busy.view(unique('One')), await busy.view(unique('Two'))]
    await call('DELETE', `/workspace/api-keys/${busy.id}`)
    const key = await open(page, busy.name)
    await expect(key.getByRole('listitem')).toHaveCount(2)
    const look = async (name: string) => {
      expect(await findings(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      if (process.env.ATLAS_PICTURES)
        await page.screenshot({ path: `${process.env.ATLAS_PICTURES}/${name}-${width}-${colorScheme}.png` })
    }
    await key.getByRole('button', { name: 'Undo what it did' }).scrollIntoViewIfNeeded()
    await look('key-actions')
    await key.getByRole('button', { name: 'Undo what it did' }).click()
    await expect(page.getByRole('dialog')).toContainText('2 will be undone.')
    await look('key-undo')
    for (const v of own) await call('DELETE', `/workspace/views/${v.id}`)
  })
})
