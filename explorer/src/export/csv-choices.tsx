import { maxNamed } from '../search/columns'
import { Choice } from './choice'
import type { ProjectBy } from './job'
import { projectWith } from './join'
import type { FormProps } from './use-plan'

/** CSVChoices are what a CSV file has, and how it is written. */
export function CSVChoices({ plan, choices, choose }: FormProps) {
  const { projectBy } = choices
  const option = (key: 'forPeople' | 'join' | 'named' | 'excel' | 'formulas') => ({
    checked: choices[key],
    onChange: () => choose({ [key]: !choices[key] }),
  })
  return (
    <fieldset>
      <legend>CSV</legend>
      <Choice
        label="For people"
        text="names, days and the order of columns as in the table, not as in the API"
        {...option('forPeople')}
      />
      {plan.joinable && (
        <Choice
          label="With project and person"
          text={`beside each firm the project with ${projectWith[projectBy]}, of those that the search asks for, and the person to call; a credit for each`}
          {...option('join')}
        />
      )}
      {plan.joins && (
        <label className="choice nested">
          Project with
          <select value={projectBy} onChange={(e) => choose({ projectBy: e.target.value as ProjectBy })}>
            {Object.entries(projectWith).map(([by, text]) => (
              <option key={by} value={by}>
                {text}
              </option>
            ))}
          </select>
        </label>
      )}
      {plan.nameable.length > 0 && (
        <Choice
          label="Names of firms and people"
          text={`of up to ${maxNamed} a row, in columns of their own; a credit for each firm or person, once`}
          {...option('named')}
        />
      )}
      <Choice label="For Excel" text="a mark at the beginning says that the text is UTF-8" {...option('excel')} />
      <Choice
        label="Keep formulas"
        text="otherwise a text that looks like one gets a ’ in front, so that none runs"
        {...option('formulas')}
      />
    </fieldset>
  )
}
