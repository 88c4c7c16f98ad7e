import { enter, expect, test } from './service'

// What a record may say. The service is real; the names of its first row are replaced.
const names = [
  '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'">',
  'javascript:alert(1)',
  `${'long '.repeat(4000)}end`,
  'شركة البناء 123 שלום',
  '😀👩‍👩‍👧‍👦 ﷽ Ω̶̡͖ \u202Ereversed',
  '   ',
]

for (const name of names) {
  test(`a record called ${name.slice(0, 24)}`, async ({ page }) => {
    await enter(page, '/accounts')
    await page.route('**/data/accounts/search*', async (route) => {
      const response = await route.fetch()
      const body = (await response.json()) as { data: Record<string, unknown>[] }
      Object.assign(body.data[0] ?? {}, { name, description: name, website: name, domains: [name] })
      await route.fulfill({ response, json: body })
    })
    await page.getByRole('button', { name: /^Show 25 rows/ }).click()
    const row = page.getByRole('row').nth(1)
    await expect(row.getByRole('link')).toHaveText(name)
    expect((await row.boundingBox())?.height).toBe(36)
    await row.click({ position: { x: 400, y: 10 } })
    const drawer = page.locator('.drawer')
    await expect(drawer.getByRole('heading', { level: 2 }).first()).toHaveText(name)
    expect(await drawer.locator('a[href^="javascript" i]').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1440)
    await expect(page).toHaveTitle(/firms · Atlas$/)
  })
}
