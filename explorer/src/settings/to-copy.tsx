import { Copied } from './copied'

interface Props {
  value: string
  label: string
}

/** ToCopy shows a text to copy, below its label. */
export function ToCopy({ value, label }: Props) {
  return (
    <label>
      {label}
      <span className="actions">
        <Copied value={value} label={label} action="Copy" name={label} />
      </span>
    </label>
  )
}
