import type { ComponentProps } from 'react'

interface Props extends ComponentProps<'input'> {
  label: string
  /** What the choice means. */
  text: string
}

/** Choice is something of a form that is chosen, or one of several. */
export function Choice({ label, text, ...input }: Props) {
  return (
    <label className="choice">
      <input type="checkbox" {...input} />
      <span>
        <b>{label}</b> <span className="quiet">{text}</span>
      </span>
    </label>
  )
}
