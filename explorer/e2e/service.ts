import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test as base, type Page } from '@playwright/test'

/** dir has the dev.json of a running atlas-dev. */
export const dir = process.env.ATLAS_DEV_DIR ?? '../.atlas'
export const binary = process.env.ATLAS_DEV ?? '../bin/atlas-dev'

interface Service {
  base_url: string
  postgres_url: string
  postgres_system_url: string
  elasticsearch_url: string
  redis_url: string
  workspaces: {
    id: string
    name: string
    plan: string
    api_key: string
    users: { email: string; role: string; token: string }[]
  }[]
}

export const service = (): Service => JSON.parse(readFileSync(join(dir, 'dev.json'), 'utf8')) as Service
export const baseURL = () => new URL(service().base_url).origin

/** link returns a new sign-in link. */
export function link(email?: string): string {
  return execFileSync(binary, ['link', '--dir', dir, ...(email ? ['--email', email] : [])])
    .toString()
    .trim()
}

/** userWith returns the address of a user who has a role in the first workspace. */
export const userWith = (role: string) => service().workspaces[0]?.users.find((u) => u.role === role)?.email ?? ''

/** answered waits for the answer of the API to a request of a path. */
export const answered = (page: Page, path: string, method = 'POST') =>
  page.waitForResponse((r) => r.url().includes(path) && r.request().method() === method)

/** newFolder makes a folder among the results of the test, which the next run deletes. */
export const newFolder = () => mkdtempSync(test.info().outputPath('files-'))

/** used returns the credits that the first workspace has used. */
export async function used(): Promise<number> {
  const { base_url, workspaces } = service()
  const response = await fetch(`${base_url}/workspace/credits`, {
    headers: { Authorization: `Bearer ${workspaces[0]?.api_key}` },
  })
  return ((await response.json()) as { data: { used: number } }).data.used
}

/** enter signs in and opens an address. */
export async function enter(page: Page, address = '/'): Promise<void> {
  await page.goto(link())
  await expect(page.getByRole('navigation', { name: 'Datasets' })).toBeVisible()
  if (address !== '/') await page.goto(address)
  await counted(page)
}

/** counted waits for the counts of the first facets. */
export async function counted(page: Page): Promise<void> {
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^[\d,]+ /)
}

/** seen is a browser that has visited before. */
const seen = () => {
  try {
    localStorage.setItem('atlas-welcome', 'seen')
  } catch {
    // A page without an origin has no storage.
  }
}

/** test fails when the page logs an error or breaks its content security policy. */
export const test = base.extend<{ quiet: undefined }>({
  quiet: [
    async ({ page }, use) => {
      await page.addInitScript(seen)
      const messages: string[] = []
      page.on('console', (m) => {
        // The browser logs each failed response; tests check those on the page. Without a
        // graphics card it warns that WebGL is slow.
        const expected = m.text().startsWith('Failed to load resource') || m.text().includes('GL Driver Message')
        if (['error', 'warning'].includes(m.type()) && !expected) messages.push(m.text())
      })
      page.on('pageerror', (e) => messages.push(String(e)))
      await use(undefined)
      expect(messages).toEqual([])
    },
    { auto: true },
  ],
})

export { expect }
