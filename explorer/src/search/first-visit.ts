const key = 'atlas-welcome'

/** isFirstVisit reports whether the welcome has not been dismissed in this browser yet. */
export function isFirstVisit(): boolean {
  try {
    return localStorage.getItem(key) === null
  } catch {
    // A browser without storage would show it each time.
    return false
  }
}

/** dismissWelcome dismisses it for good, stored in this browser. */
export const dismissWelcome = () => localStorage.setItem(key, 'seen')
