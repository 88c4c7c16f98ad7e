import { saveFile } from '../ui/save-file'
import type { Job } from './job'
import { fileOf } from './store'

/** fileName is the name of the file. */
export const fileName = ({
  name,
  dataset,
  startedAt,
  format,
}: Pick<Job, 'name' | 'dataset' | 'startedAt' | 'format'>) =>
  `${slug(name ?? '') || dataset}-${new Date(startedAt).toISOString().slice(0, 10)}.${format}`

/** The maximum length of a name in a file name. */
const maxName = 60

/** slug is the letters and digits of a name, with - between its words. */
const slug = (name: string) =>
  [...name.normalize('NFC').replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-')]
    .slice(0, maxName)
    .join('')
    .replaceAll(/^-+|-+$/g, '')

/** saveExport hands the file to the browser. */
export const saveExport = async (job: Job) => saveFile(fileName(job), await fileOf(job))
