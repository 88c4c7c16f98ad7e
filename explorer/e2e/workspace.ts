import type { Browser, Page } from '@playwright/test'
import { counted, link, service } from './service'

const workspace = service().workspaces[0]
export const [owner, admin] = workspace?.users ?? []

/** call calls the API as a user of the first workspace, by default the owner. */
export async function call<T>(method: string, path: string, body?: unknown, user = owner): Promise<T> {
  const separator = path.includes('?') ? '&' : '?'
  const response = await fetch(`${service().base_url}${path}${separator}workspace_id=${workspace?.id}`, {
    method,
    headers: { Authorization: `Bearer ${user?.token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return ((await response.json()) as { data: T }).data
}

export interface View {
  id: string
  name: string
}

/** unique makes names that no other test has. */
export const unique = (name: string) => `${name} ${Date.now().toString(36)}`

export const create = async (name: string, rest: object = { view_type: 'static' }, dataset = 'account') =>
  (await call<{ view: View }>('POST', '/workspace/views/upsert', { dataset, name, ...rest })).view
export const remove = (view: View) => call('DELETE', `/workspace/views/${view.id}`)

/** firms are ids of some firms, without reading them on the page. */
export const firms = (limit: number) =>
  call<{ id: string; name: string }[]>('POST', '/data/accounts/search', { limit, fields: ['name'] })

/** another signs another member in, in a browser of their own. */
export async function another(browser: Browser, address: string): Promise<Page> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(link(admin?.email))
  await counted(page)
  await page.goto(address)
  return page
}
