/** isMac reports whether the command key replaces Ctrl. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
