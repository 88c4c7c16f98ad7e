import { notify } from './toast'

/** copy copies a text to the clipboard, and confirms it, or reports that the browser does not permit it. */
export async function copy(name: string, text: string): Promise<void> {
  try {
    // Pages without https have no clipboard.
    await navigator.clipboard.writeText(text)
    notify(`${name} is copied`)
  } catch {
    notify(
      `${name} is not copied: the browser does not let this page use the clipboard. Select it and copy it by hand.`,
    )
  }
}
