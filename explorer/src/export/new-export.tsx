import { link } from '../address'
import { nouns } from '../datasets'
import { Notice } from '../ui/notice'
import { Choice } from './choice'
import { ColumnsChoice } from './columns-choice'
import { CSVChoices } from './csv-choices'
import type { Format } from './format'
import { Price } from './price'
import { RowsChoice } from './rows-choice'
import { useChoices } from './use-choices'
import { usePlan } from './use-plan'
import { useStart, type ExportTarget } from './use-start'

const formats: { format: Format; label: string; text: string }[] = [
  { format: 'csv', label: 'CSV', text: 'for spreadsheets' },
  { format: 'ndjson', label: 'NDJSON', text: 'for programs; each record as Atlas has it, one a line' },
]

interface Props extends ExportTarget {
  /** Address of the search. */
  back: string
}

/** NewExport asks for the options of the file, shows the price, and begins. */
export function NewExport({ back, ...target }: Props) {
  const { workspace, source } = target
  const [choices, choose] = useChoices()
  const plan = usePlan(workspace, source, choices)
  const { start, disabled, error } = useStart(target, choices, plan)
  const { count, matches } = plan
  const form = { plan, choices, choose }
  if (count.error) return <Notice error={count.error} retry={() => void count.refetch()} />
  if (matches === 0 && !plan.countIsPartial) {
    return (
      <div className="notice">
        <h2>Nothing to export</h2>
        <p>No {nouns[source.dataset].one} matches this search.</p>
        <a className="button" {...link(back)}>
          Back to the search
        </a>
      </div>
    )
  }
  return (
    <form
      className="new-export"
      onSubmit={(e) => {
        e.preventDefault()
        if (!plan.invalid) start()
      }}
    >
      <fieldset>
        <legend>Format</legend>
        {formats.map(({ format, ...f }) => (
          <Choice
            key={format}
            type="radio"
            name="format"
            {...f}
            checked={choices.format === format}
            onChange={() => choose({ format })}
          />
        ))}
      </fieldset>
      {choices.format === 'csv' && <CSVChoices {...form} />}
      <RowsChoice {...form} />
      {choices.format === 'csv' && <ColumnsChoice {...form} />}
      <Price plan={plan} back={back} disabled={disabled} />
      {error && <p className="problem">This browser cannot keep the file: {error.message}.</p>}
      <p className="quiet">
        You can go on working, and pause or reload: what is written is kept in this browser and not paid for again.
      </p>
    </form>
  )
}
