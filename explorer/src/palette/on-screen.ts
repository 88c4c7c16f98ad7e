import type { Command } from './command'

// The palette offers every visible control of the screen, so no list of them is needed.

const controls = 'button, a[href], summary, input[type=checkbox], input[type=radio], select'

/** What the palette already lists as commands, and rows of data. */
const excluded = '[role=row]:not(:has([role=columnheader])), [role=listbox], .top, dialog'

/** Containers whose names describe their content. */
const containers = 'section, nav, fieldset, [role=group], [role=radiogroup], [role=tablist]'

/** textOf is the accessible text of an element, without keys. */
function textOf(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? ''
  if (!(node instanceof Element) || node.matches('[aria-hidden=true], svg, kbd, select')) return ''
  return [...node.childNodes].map(textOf).join(' ')
}

const tidy = (text: string) => text.replace(/\s+/g, ' ').trim()

/** labelOf is the name of an element. */
function labelOf(element: Element): string {
  const by = element.getAttribute('aria-labelledby')
  const elements = by?.split(' ').flatMap((id) => document.getElementById(id) ?? [])
  if (elements && elements.length > 0) return tidy(elements.map(textOf).join(' '))
  const label = element.getAttribute('aria-label')
  if (label) return tidy(label)
  const labels = element instanceof HTMLInputElement || element instanceof HTMLSelectElement ? element.labels : null
  return tidy(labels?.[0] ? textOf(labels[0]) : textOf(element))
}

/** placeOf is the context of an element, beside its own name. */
function placeOf(element: Element): string {
  const menu = element.closest('[popover]')
  const opener = menu && document.querySelector(`[popovertarget="${menu.id}"]`)
  if (opener) return labelOf(opener)
  const place = element.parentElement?.closest(containers)
  if (!place) return ''
  const legend = place.querySelector(':scope > legend')
  if (legend) return tidy(textOf(legend))
  return place.hasAttribute('aria-label') || place.hasAttribute('aria-labelledby') ? labelOf(place) : ''
}

const isCurrent = (element: Element) =>
  (element.getAttribute('aria-current') ?? 'false') !== 'false' || element.getAttribute('aria-selected') === 'true'

function isAvailable(element: Element): boolean {
  if (element.closest(excluded) || element.closest('[inert], [aria-hidden=true]')) return false
  if (element.matches(':disabled, [aria-disabled=true]') || isCurrent(element)) return false
  // The items of a closed menu can be chosen too.
  return element.closest('[popover]') !== null || element.checkVisibility()
}

/** How many are shown before one types. */
const maxListed = 10

/** weight sorts: the record, then the content of the screen, then everything around it. */
const weight = (element: Element) => (element.closest('.drawer') ? 0 : element.closest('main') ? 1 : 2)

/** visibleCommands lists what can be pressed on the screen. Prices are in the names, as they are there. */
export function visibleCommands(root: ParentNode = document): Command[] {
  const commands: Command[] = []
  const elements = [...root.querySelectorAll<HTMLElement>(controls)].filter(isAvailable)
  for (const element of elements.sort((a, b) => weight(a) - weight(b))) {
    // A control that shows a state has the verb of its action in data-verb.
    const { verb } = element.dataset
    const name = verb ? `${verb}: ${labelOf(element)}` : labelOf(element)
    if (element instanceof HTMLSelectElement) {
      for (const option of element.options) {
        if (!option.selected) add(option.text, name || placeOf(element), () => choose(element, option.value))
      }
      continue
    }
    const chosen = element instanceof HTMLInputElement && element.checked
    if (chosen && element.type === 'radio') continue
    add(
      chosen ? `${name}: no longer` : name,
      placeOf(element),
      () => press(element),
      element.closest('.rail, .list') !== null,
    )
  }
  return commands

  // Filters and related records are many: they are listed only for a typed text, like less
  // important controls.
  function add(name: string, place: string, run: () => void, filter = false) {
    if (!name) return
    const id = `screen ${commands.length}`
    const hidden = filter || commands.filter((c) => !c.hidden).length >= maxListed
    commands.push({ id, group: 'On this screen', name, ...(place && place !== name ? { place } : {}), hidden, run })
  }
}

/** press is a click where the element still is. */
function press(element: HTMLElement) {
  element.focus()
  element.click()
}

function choose(select: HTMLSelectElement, value: string) {
  select.value = value
  select.dispatchEvent(new Event('change', { bubbles: true }))
}
