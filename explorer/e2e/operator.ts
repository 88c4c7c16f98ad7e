import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { binary, newFolder, service } from './service'

/** applyFirms changes firms as an operator does, by a delta. */
export function applyFirms(lines: object[]): void {
  const folder = newFolder()
  const file = join(folder, 'accounts.ndjson')
  writeFileSync(file, lines.map((l) => JSON.stringify(l) + '\n').join(''))
  const { elasticsearch_url, postgres_system_url } = service()
  const env = {
    ...process.env,
    ATLAS_ELASTICSEARCH_URL: elasticsearch_url,
    ATLAS_POSTGRES_SYSTEM_URL: postgres_system_url,
  }
  const command = ['index', 'apply', '--accounts', file, '--work-dir', join(folder, 'work')]
  execFileSync(join(dirname(binary), 'atlas'), command, { env, stdio: ['ignore', 'ignore', 'pipe'] })
}
