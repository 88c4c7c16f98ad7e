// Writes src/api/rows.ts of the OpenAPI document: what a row of each table has, by the order of
// the document, and what sorts it. So a new field is in the tables, the exports and the sorts
// without an edit here.
import { readFileSync, writeFileSync } from 'node:fs'

const { schemas } = JSON.parse(readFileSync('src/api/openapi.json', 'utf8')).components

/** The schemas of the rows and of the sorts of a table. */
const tables = { signals: ['Signal', 'SignalSort'] }
for (const [dataset, one] of Object.entries({ projects: 'Project', accounts: 'Account', contacts: 'Contact' })) {
  tables[dataset] = [one, `${one}Sort`]
  tables[`book ${dataset}`] = [`Workspace${one}Row`, `Workspace${one}Sort`]
  tables[`view ${dataset}`] = [`View${one}Row`, `View${one}Sort`]
}

function typeOf(schema) {
  const { anyOf, $ref, type, format, items } = schema
  if (anyOf) return typeOf(anyOf.find((s) => s.type !== 'null'))
  if ($ref) return typeOf(schemas[$ref.split('/').at(-1)])
  if (schema.enum) return 'enum'
  switch ([type].flat().find((t) => t !== 'null')) {
    case 'string':
      return { uuid: 'id', 'date-time': 'date' }[format] ?? 'text'
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return typeOf(items) === 'id' ? 'ids' : 'list'
  }
  throw new Error(`a row has a member that is no column: ${JSON.stringify(schema)}`)
}

const rows = {}
const sorts = {}
for (const [table, [row, sort]] of Object.entries(tables)) {
  const members = Object.entries(schemas[row].properties)
  rows[table] = Object.fromEntries(members.map(([key, schema]) => [key, typeOf(schema)]))
  sorts[table] = schemas[sort].properties.field.enum.filter((field) => field !== 'relevance')
}

const written = (value) => JSON.stringify(value, undefined, 2)
writeFileSync(
  'src/api/rows.ts',
  `// Made by rows.js of the OpenAPI document.

export type TableName = ${Object.keys(tables).map(written).join(' | ')}

/** Type is what a value is. */
export type Type = 'id' | 'ids' | 'date' | 'number' | 'enum' | 'list' | 'text'

/** rows are the members of a row of each table. */
export const rows: Record<TableName, Record<string, Type>> = ${written(rows)}

/** sorts are the members by which the service sorts a table. */
export const sorts: Record<TableName, string[]> = ${written(sorts)}
`,
)
