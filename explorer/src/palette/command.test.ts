import { expect, it } from 'vitest'
import { found, step, type Command } from './command'

const command = (group: Command['group'], name: string, more: Partial<Command> = {}): Command => ({
  id: name,
  group,
  name,
  run: () => undefined,
  ...more,
})
const commands = [
  command('Go to', 'Firms', { place: 'Search' }),
  command('On this screen', 'Map', { place: 'Looks' }),
  command('On this screen', 'Completed 3,358', { place: 'Stage', hidden: true }),
  command('Favorites', 'Maple firms'),
]
const names = (query: string) => found(query, commands).map((c) => c.name)

it('lists all by group without a text, except filters', () => {
  expect(names('')).toEqual(['Map', 'Maple firms', 'Firms'])
})

it('lists the best match first, filters too', () => {
  // Of equal ones the shorter.
  expect(names('map')).toEqual(['Map', 'Maple firms'])
  expect(names('stage comp')).toEqual(['Completed 3,358'])
  expect(names('go firms')[0]).toBe('Firms')
  expect(names('xyzzy')).toEqual([])
})

it('wraps around at the ends', () => {
  expect([step(3, 2, 1), step(3, 0, -1), step(0, 0, 1)]).toEqual([0, 2, 0])
})
