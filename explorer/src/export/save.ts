import { fileOf, type Job } from './store'

/** nameOf is the name of the file. */
export const fileName = (job: Job) =>
  `${job.dataset}-${new Date(job.startedAt).toISOString().slice(0, 10)}.${job.format}`

/** saveFile hands the file to the browser, which puts it where it puts downloads. */
export async function saveFile(job: Job): Promise<void> {
  const address = URL.createObjectURL(await fileOf(job))
  const link = document.createElement('a')
  link.href = address
  link.download = fileName(job)
  link.click()
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}
