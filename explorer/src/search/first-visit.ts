const key = 'atlas-welcome'

/** isFirstVisit reports whether nobody in this browser has sent the welcome away yet. */
export function isFirstVisit(): boolean {
  try {
    return localStorage.getItem(key) === null
  } catch {
    // A browser that keeps nothing would show it each time.
    return false
  }
}

/** leaveWelcome sends it away for good: this browser keeps that. */
export const leaveWelcome = () => localStorage.setItem(key, 'seen')
