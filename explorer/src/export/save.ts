import { saveFile } from '../ui/save-file'
import { fileOf, type Job } from './store'

/** fileName is the name of the file. */
export const fileName = (job: Job) =>
  `${job.dataset}-${new Date(job.startedAt).toISOString().slice(0, 10)}.${job.format}`

/** saveExport hands the file to the browser. */
export const saveExport = async (job: Job) => saveFile(fileName(job), await fileOf(job))
