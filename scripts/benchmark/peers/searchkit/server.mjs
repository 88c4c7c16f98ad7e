// Serves Searchkit's API over HTTP, as its documentation shows it, in front of the
// indices of `Elasticsearch`. Arguments: the address of Elasticsearch and the prefix
// of the indices. It prints its port when it is
// ready, and ends with its standard input.
import http from 'node:http'
import Client from '@searchkit/api'

const [, , host, prefix] = process.argv

const keyword = (attribute) => ({ attribute, field: `${attribute}.keyword`, type: 'string' })

const client = Client({
  connection: { host },
  search_settings: {
    search_attributes: [{ field: 'name', weight: 2 }, 'description', 'address'],
    result_attributes: ['*'],
    facet_attributes: [keyword('stage'), keyword('primary_use'), keyword('city'), { attribute: 'cost', field: 'cost', type: 'numeric' }],
    sorting: {
      _cost_desc: [{ field: 'cost', order: 'desc' }, { field: 'id.keyword', order: 'asc' }],
      _occurred_at_desc: [{ field: 'occurred_at', order: 'desc' }, { field: 'id.keyword', order: 'asc' }],
    },
  },
})

const server = http.createServer(async (request, response) => {
  try {
    let body = ''
    for await (const part of request) body += part
    const requests = JSON.parse(body)
    for (const one of requests) one.indexName = prefix + one.indexName
    const answer = await client.handleRequest(requests)
    // Equal requests must get equal answers.
    for (const result of answer.results) delete result.processingTimeMS
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})

process.stdin.on('end', () => process.exit()).resume()
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
