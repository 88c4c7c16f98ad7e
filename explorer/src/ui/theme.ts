import { useState } from 'react'

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

/** useTheme returns the theme and how to change it; this browser keeps it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored)
  return [
    theme,
    (next) => {
      localStorage.setItem(key, next)
      apply(next)
      setTheme(next)
    },
  ]
}
