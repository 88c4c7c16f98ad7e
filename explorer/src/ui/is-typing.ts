/** isTyping reports whether a key goes to a field, where it is text or chooses something. */
export const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type=checkbox], [type=radio]), textarea, select')
