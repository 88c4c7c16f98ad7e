import { notify } from './toast'

/** copy puts a text into the clipboard, and says so, or that the browser does not let it. */
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
