import { CopyField } from './copy-field'

interface Props {
  value: string
  label: string
}

/** LabelledCopyField shows a text to copy, below its label. */
export function LabelledCopyField({ value, label }: Props) {
  return (
    <label>
      {label}
      <span className="actions">
        <CopyField value={value} label={label} action="Copy" name={label} />
      </span>
    </label>
  )
}
