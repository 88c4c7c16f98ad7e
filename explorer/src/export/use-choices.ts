import { useState } from 'react'
import type { Format } from './format'
import type { ProjectBy } from './job'

/** Choices are what the form of an export asks for. */
export interface Choices {
  format: Format
  excel: boolean
  formulas: boolean
  forPeople: boolean
  named: boolean
  join: boolean
  projectBy: ProjectBy
  /** The columns that the file does not have. */
  excluded: string[]
  /** The number of rows as it is typed; undefined: all. */
  first: string | undefined
}

export type Choose = (part: Partial<Choices>) => void

const defaults: Choices = {
  format: 'csv',
  excel: false,
  formulas: false,
  forPeople: true,
  named: false,
  join: false,
  projectBy: 'cost',
  excluded: [],
  first: undefined,
}

export function useChoices(): [Choices, Choose] {
  const [choices, set] = useState(defaults)
  return [choices, (part) => set((before) => ({ ...before, ...part }))]
}
