import type { ComponentProps } from 'react'

type Props = Omit<ComponentProps<'input'>, 'value' | 'onChange'> & { value: string; onChange: (name: string) => void }

/** NameField is the field for the name of a View. */
export function NameField({ onChange, ...rest }: Props) {
  return (
    <label className="field">
      <span>Name</span>
      <input type="text" autoFocus required maxLength={120} onChange={(e) => onChange(e.target.value)} {...rest} />
    </label>
  )
}
