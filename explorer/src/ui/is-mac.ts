/** isMac reports whether the command key has the place of Ctrl. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
