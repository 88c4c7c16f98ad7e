import { expect, it } from 'vitest'
import type { Body } from '../api/body'
import { goOf } from './go-program'

// The programs are files that a Go test compiles; `npx vitest run -u` writes them.
const file = (name: string) => `../../testdata/copied/${name}.golden`
const base = 'https://atlas.example/api/v1'

it('is a program with every kind of condition', async () => {
  const body = {
    query: 'builder\'s "$HOME" \\n\u0000\u2028 \ufeff😀 \ud800 `x`',
    filters: {
      stage: { value: ['filed', 'permitted'] },
      primary_use: { value: 'multifamily' },
      cost: { value: [10000, null] },
      sqft: { value: [1, 2.5] },
      stories: { value: [null, 4] },
      residential_units: { value: [2, 1e21] },
      filed_at: { value: ['2015-01-01', '2019-12-31'] },
      name: { value: 'Garage', exact_match: true },
      description: { known: true },
      completed_at: { known: false },
      location: { value: { near: { latitude: 51.04, longitude: -114.07, radius_m: 2000 } } },
    },
    relations: { has_signal: { signal_type: { value: ['gc_assigned'] } } },
    any: [{ filters: { city: { value: ['Calgary'] } } }, { filters: { city: { known: false } } }],
    none: [{ relations: { has_signal: { signal_type: { value: 'permit_expired' } } } }],
  } as Body
  await expect(goOf(base, 'projects', body, { field: 'cost', order: 'desc' }, 'w')).toMatchFileSnapshot(file('full'))
})

it.each(['accounts', 'contacts', 'signals'] as const)('is a program for %s', async (dataset) => {
  await expect(goOf(base, dataset, {}, undefined, 'w')).toMatchFileSnapshot(file(dataset))
})
