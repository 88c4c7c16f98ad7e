import type { AnyRecord, Dataset } from '../datasets'
import type { Body } from '../api/body'
import type { Schemas } from '../api/client'
import type { Sort } from '../api/queries'
import type { CSVOptions, Format } from './format'

/** ProjectBy is the number by which the project of a firm is chosen. */
export type ProjectBy = NonNullable<Schemas['AccountJoinRequest']['project_by']>

/** Source is what is exported: the records of a search, or those with ids. */
export interface Source {
  dataset: Dataset
  /** It also has where to search: in Data, the book or a View. */
  body: Body
  sort?: Sort
  ids?: string[]
  /** When it was requested. */
  at?: number
}

/** Job is an export and its progress. The browser stores it, and each page of its file. */
export interface Job extends CSVOptions {
  id: string
  /** Exports are those of one user in one workspace. */
  user: string
  workspace: string
  dataset: Dataset
  /** The name of the exported object, such as a View. */
  name?: string
  format: Format
  columns: string[]
  /** Rows are firms, each with a project and a person. */
  join?: true
  /** The number by which the project is chosen. */
  projectBy?: ProjectBy
  /** Rows to export: a maximum, and no more than were counted at the start. */
  total: number
  /** Export no more rows than total, even if there are more now. */
  capped: boolean
  state: 'running' | 'paused' | 'complete' | 'stopped'
  /** The cursor of the next page, or with ids the number of completed ones. */
  cursor?: string
  rows: number
  credits: number
  bytes: number
  pages: number
  startedAt: number
  updatedAt: number
}

/** Rows that were already loaded, by id. */
export type LoadedRows = Record<string, AnyRecord>

/** Page is what was read of an export at once. */
export interface Page {
  /** Each record as it was received. */
  records: string[]
  /** The cursor of the next page; absent at the end. */
  next?: string
  credits: number
}
