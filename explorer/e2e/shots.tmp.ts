import { test } from '@playwright/test'
for (const [w,h] of [[1440,900],[390,844]] as const) for (const cs of ['light','dark'] as const)
  test.describe(`${w}${cs}`, () => { test.use({ viewport: {width:w,height:h}, colorScheme: cs })
    test('s', async ({page}) => { for (const [n,a] of [['home',''],['ops','/operators#backup-and-restore'],['bench','/benchmarks#peers'],['ref','/reference'],['data','/reference/data#search_accounts'],['arch','/architecture#packages'],['search','/search?q=restore'],['miss','/operatr'],['types','/reference/types#AccountFilters']] as const) {
      await page.goto('/docs'+a); await page.waitForTimeout(200); await page.screenshot({path:`/tmp/shots/${n}-${w}-${cs}.png`}) } }) })
