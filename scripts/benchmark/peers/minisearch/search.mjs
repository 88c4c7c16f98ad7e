// Searches with MiniSearch as its documentation shows it: beginnings and similar words, all
// words, otherwise any. Standard input has a line of JSON for each record ({dataset, id,
// name, text}), an empty line, and then one for each search ({dataset, query}); each is
// answered with a line, the list of at most 50 ids.
import readline from 'node:readline'
import MiniSearch from 'minisearch'

const indices = {}
let filling = true

for await (const line of readline.createInterface({ input: process.stdin })) {
  if (line === '') {
    filling = false
    continue
  }
  const { dataset, query, ...record } = JSON.parse(line)
  indices[dataset] ??= new MiniSearch({ fields: ['name', 'text'] })
  if (filling) {
    indices[dataset].add(record)
    continue
  }
  const options = { prefix: true, fuzzy: 0.2, boost: { name: 2 } }
  let found = indices[dataset].search(query, { ...options, combineWith: 'AND' })
  if (found.length === 0) found = indices[dataset].search(query, options)
  console.log(JSON.stringify(found.slice(0, 50).map((r) => r.id)))
}
