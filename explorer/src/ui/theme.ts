import { useSyncExternalStore } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'theme'

function stored(): Theme {
  const value = localStorage.getItem(key)
  return themes.find((t) => t === value) ?? 'system'
}

function apply(theme: Theme) {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}
apply(stored())

const listeners = new Set<() => void>()

/** setTheme changes the theme, and stores it in this browser. */
export function setTheme(theme: Theme): void {
  localStorage.setItem(key, theme)
  apply(theme)
  listeners.forEach((listen) => listen())
}

/** useTheme returns the theme and how to change it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((listen) => {
    listeners.add(listen)
    return () => {
      listeners.delete(listen)
    }
  }, stored)
  return [theme, setTheme]
}
