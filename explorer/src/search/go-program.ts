import type { Body } from '../api/body'
import type { Sort } from '../api/queries'
import type { Dataset } from '../datasets'
import { isRelative } from './relative'

/** text is a literal of Go: one of JSON, without what Go does not take. */
const text = (value: string) =>
  JSON.stringify(value)
    .replaceAll(/\\(?:u(d[89a-f]..)|.)/g, (escape, surrogate) => (surrogate ? '\\ufffd' : escape))
    .replaceAll('\ufeff', '\\ufeff')

const isDay = (value: unknown) => typeof value === 'string' && (/^\d{4}-\d\d-\d\d/.test(value) || isRelative(value))
const isScalar = (value: unknown) => typeof value === 'string' || typeof value === 'number'
const number = (n: number) => (Number.isInteger(n) && !Number.isSafeInteger(n) ? n.toExponential() : String(n))
const scalar = (value: unknown) => {
  if (typeof value === 'string') return text(value)
  return typeof value === 'number' ? number(value) : String(value)
}

/** literal is any value of JSON in Go. */
function literal(value: unknown): string {
  if (value === null) return 'nil'
  if (typeof value !== 'object') return scalar(value)
  if (Array.isArray(value)) return `[]any{${value.map(literal).join(', ')}}`
  const members = Object.entries(value).map(([k, v]) => `${text(k)}: ${literal(v)}`)
  return `map[string]any{${members.join(', ')}}`
}

/** filterOf is a condition with the functions of the client, or as JSON if there is none. */
function filterOf(condition: unknown): string {
  const { value, exact_match, known } = condition as { value?: unknown; exact_match?: boolean; known?: boolean }
  if (known !== undefined) return known ? 'client.Known()' : 'client.Unknown()'
  const texts = Array.isArray(value) ? value : [value]
  if (exact_match) {
    if (texts.every((t) => typeof t === 'string')) return `client.Exactly(${texts.map(text).join(', ')})`
    return `client.Filter{Value: ${literal(value)}, ExactMatch: true}`
  }
  if (isScalar(value)) return `client.Is(${scalar(value)})`
  if (Array.isArray(value)) {
    const [from, to] = value as unknown[]
    if (value.length === 2 && from === null && isScalar(to)) return `client.AtMost(${scalar(to)})`
    if (value.length === 2 && to === null && isScalar(from)) return `client.AtLeast(${scalar(from)})`
    if (value.length === 2 && ((isDay(from) && isDay(to)) || (typeof from === 'number' && typeof to === 'number'))) {
      return `client.Between(${scalar(from)}, ${scalar(to)})`
    }
    if (value.every((v) => typeof v === 'string'))
      return `client.AnyOf(${value.map((v) => text(v as string)).join(', ')})`
  }
  return `client.Filter{Value: ${literal(value)}}`
}

/** block is the elements of a composite literal, each in a line. */
function block(depth: number, elements: [string, string][]): string {
  const lines = elements.map(([name, value]) => `${'\t'.repeat(depth)}${name && `${name} `}${value},\n`)
  return `{\n${lines.join('')}${'\t'.repeat(depth - 1)}}`
}

type Conditions = Record<string, unknown>

const filters = (depth: number, conditions: Conditions) =>
  block(
    depth,
    Object.entries(conditions).map(([key, c]) => [`${text(key)}:`, filterOf(c)]),
  )

const relations = (depth: number, of: Conditions) =>
  block(
    depth,
    Object.entries(of).map(([key, c]) => [
      `${text(key)}:`,
      Object.keys(c as object).length ? filters(depth + 1, c as Conditions) : '{}',
    ]),
  )

interface Group {
  filters?: Conditions
  relations?: Conditions
}

/** conditions are members of a search or a group. */
function conditions(depth: number, of: Group): [string, string][] {
  return [
    ...(of.filters ? [['Filters:', `client.Filters${filters(depth + 1, of.filters)}`] as [string, string]] : []),
    ...(of.relations
      ? [['Relations:', `client.Relations${relations(depth + 1, of.relations)}`] as [string, string]]
      : []),
  ]
}

const groups = (depth: number, of: Group[]) =>
  `[]client.Group${block(
    depth,
    of.map((g) => ['', block(depth + 1, conditions(depth + 1, g))]),
  )}`

/** goOf is the search as a program with the package client. The key is a variable. */
export function goOf(base: string, dataset: Dataset, body: Body, sort: Sort | undefined, workspace: string): string {
  const { any, none } = body as { any?: Group[]; none?: Group[] }
  const members: [string, string][] = [
    ...(body.query ? [['Query:', text(body.query)] as [string, string]] : []),
    ...conditions(2, body),
    ...(any ? [['Any:', groups(3, any)] as [string, string]] : []),
    ...(none ? [['None:', groups(3, none)] as [string, string]] : []),
    ...(sort
      ? [['Sort:', `client.${sort.order === 'desc' ? 'Desc' : 'Asc'}(${text(sort.field)})`] as [string, string]]
      : []),
    ['Limit:', '25'],
  ]
  const source = dataset.charAt(0).toUpperCase() + dataset.slice(1)
  return `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"atlas/client"
)

func main() {
	c, err := client.New(${text(base)},
		client.WithAPIKey(os.Getenv("ATLAS_API_KEY")), client.WithWorkspace(${text(workspace)}))
	if err != nil {
		log.Fatal(err)
	}
	page, err := c.${source}.Search(context.Background(), client.Search${block(2, members)})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range page.Records {
		fmt.Println(r.ID, r.${dataset === 'signals' ? 'Title' : 'Name'})
	}
}
`
}
