import { describe, expect, it } from 'vitest'
import {
  around,
  distance,
  formatPlace,
  insidePolygon,
  nearPoint,
  outline,
  parsePlace,
  phrasePlace,
  withinBox,
} from './place'

describe('a place', () => {
  it.each([
    '51.0447,-114.0719,2.5km',
    '51,-114,500m',
    '50.84..51.21,-114.3..-113.9',
    '-5..5,170..-170',
    '51,-114 51,-113 52,-113.5',
  ])('%s is what it was', (text) => {
    const place = parsePlace(text)
    expect(place && formatPlace(place)).toBe(text)
  })

  it('is read as the command line reads it', () => {
    expect(parsePlace('51, -114, 0.5 km')).toEqual({
      kind: 'place',
      near: { latitude: 51, longitude: -114, radius_m: 500 },
    })
    expect(parsePlace('.5..1.,2..3')).toEqual({ kind: 'place', within: { south: 0.5, north: 1, west: 2, east: 3 } })
  })

  it.each([
    ...['', '51,-114', '51,-114,2', '51,-114,km', '51,x,2km', '91,0,2km', '0,181,2km', '0,0,0m', '0,0,30000km'],
    ...['50..,1..2', '51..50,1..2', '1..2', '-91..0,1..2', '1..2..3,4..5'],
    ...[
      '51,-114 52,-113',
      '51,-114 51,-113 51,-112',
      '0,0 1,1 1,0 0,1',
      '0,0 0,4 4,4 4,0',
      '0,179 0,-179 1,179',
      '0,0 91,0 0,1',
    ],
  ])('%s is none', (text) => {
    expect(parsePlace(text)).toBeUndefined()
  })

  it('of corners may be closed, and have any order', () => {
    const corners = [
      { latitude: 51, longitude: -114 },
      { latitude: 52, longitude: -113.5 },
      { latitude: 51, longitude: -113 },
    ]
    const place = parsePlace('51, -114  52,-113.5\n51,-113 51,-114')
    expect(place).toEqual({ kind: 'place', polygon: corners })
    expect(place && around(place)).toEqual({ north: 52, south: 51, east: -113, west: -114 })
    expect(place && outline(place)).toHaveLength(4)
    expect(place && phrasePlace(place)).toBe('is in an area with 3 corners around 51.5000, -113.5000')
    const twice = corners.flatMap((c) => [c, { ...c, latitude: c.latitude + 1e-7 }])
    expect(insidePolygon(twice)).toEqual({ kind: 'place', polygon: corners })
    expect(insidePolygon(corners.map((c) => ({ ...c, latitude: 51 })))).toBeUndefined()
  })

  it('is rounded to about a metre, within the earth', () => {
    expect(withinBox({ north: 91, south: 50.123456, east: 181, west: -114.1 })).toEqual({
      kind: 'place',
      within: { north: 90, south: 50.12346, east: 180, west: -114.1 },
    })
    const circle = nearPoint({ latitude: 51.0447123, longitude: -114, radius_m: 2503.7 })
    expect(formatPlace(circle)).toBe('51.04471,-114,2.5km')
    expect(phrasePlace(circle)).toBe('is within 2.5 km of 51.0447, -114.0000')
  })

  it.each([
    ['50.84123..51.21,-114.3..-113.9', 'is between 50.84° and 51.21° N, 114.3° and 113.9° W'],
    ['51.044..51.04712,-114.0712..-114.07', 'is between 51.044° and 51.0471° N, 114.0712° and 114.07° W'],
    ['-5..5,170..-170', 'is between 5° S and 5° N, 170° E and 170° W'],
    ['51..51,-114..-114', 'is between 51° and 51° N, 114° and 114° W'],
  ])('%s is a box in words', (text, words) => {
    const box = parsePlace(text)
    expect(box && phrasePlace(box)).toBe(words)
  })

  it('has its border where the service ends it', () => {
    const centre = { latitude: 51.0447, longitude: -114.0719 }
    for (const [longitude, latitude] of outline({ kind: 'place', near: { ...centre, radius_m: 2000 } })) {
      expect(distance(centre, { latitude, longitude })).toBeCloseTo(2000, 3)
    }
    const box = parsePlace('-5..5,170..-170')
    expect(box && outline(box).map(([x]) => x)).toEqual([170, 190, 190, 170, 170])
  })
})
